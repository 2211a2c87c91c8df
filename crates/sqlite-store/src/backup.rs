//! Copies a store to a new file while writes continue.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

const COPY: &str = "VACUUM INTO ?1";

/// Why a backup was not written.
#[derive(Debug)]
pub enum BackupError {
    /// SQLite could not write the copy, or could not read it again.
    Sqlite(rusqlite::Error),
    /// The file can't be made at this path, or could not be synced.
    Io(io::Error),
    /// The copy is damaged. Holds the findings of SQLite's check.
    Damaged(String),
}

impl From<rusqlite::Error> for BackupError {
    fn from(failed: rusqlite::Error) -> Self {
        Self::Sqlite(failed)
    }
}

impl From<io::Error> for BackupError {
    fn from(failed: io::Error) -> Self {
        Self::Io(failed)
    }
}

/// Writes a copy of the connection's snapshot to a new file. The file gets its name only when it is
/// complete, checked and on disk.
///
/// # Errors
/// [`BackupError`]. Then no file is left behind.
pub fn backup(connection: &Connection, path: &Path) -> Result<(), BackupError> {
    // The name is unique, because the file is removed below and must not belong to another backup.
    let part = path.with_added_extension(format!("part-{}", Uuid::now_v7().simple()));
    let written = copy(connection, &part).and_then(|()| {
        check(&part)?;
        // Unlike a rename, a hard link fails if the target exists.
        fs::hard_link(&part, path)?;
        Ok(sync_folder(path)?)
    });
    // Remove the temporary file even if writing failed, but report that error first.
    let removed = fs::remove_file(&part);
    written?;
    Ok(removed?)
}

fn copy(connection: &Connection, part: &Path) -> Result<(), BackupError> {
    let name = part.to_str().ok_or_else(|| {
        let reason = "the backup path must be UTF-8";
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })?;
    // `VACUUM INTO` accepts an empty file. Creating the file here gives a better error message.
    File::create_new(part)?;
    connection.execute(COPY, [name])?;
    Ok(File::open(part)?.sync_all()?)
}

/// Checks the pages of the copy, so that damage of the store is not found only when it is restored.
fn check(part: &Path) -> Result<(), BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(part, flags)?;
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    Err(BackupError::Damaged(found))
}

/// Syncs the folder of a file, so that the file's name survives power loss.
///
/// # Errors
/// The operating system's, if the folder can't be opened or synced.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // The parent of a bare file name is the empty path, which can't be opened.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
