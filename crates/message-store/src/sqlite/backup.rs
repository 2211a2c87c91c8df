use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::error::Failure;
use super::statements;
use crate::Error;

/// Writes a copy of the connection's snapshot to a new file. The file gets its name only when it is
/// complete, checked and on disk.
pub(super) fn write(connection: &Connection, path: &Path) -> Result<(), Failure> {
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

fn copy(connection: &Connection, part: &Path) -> Result<(), Failure> {
    let name = part.to_str().ok_or_else(|| Error::Io {
        source: Arc::new(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "the backup path must be UTF-8",
        )),
    })?;
    // `VACUUM INTO` accepts an empty file. Creating the file here gives a better error message.
    File::create_new(part)?;
    connection.execute(statements::BACKUP, [name])?;
    Ok(File::open(part)?.sync_all()?)
}

/// Checks the pages of the copy, so that damage of the store is not found only when it is restored.
fn check(part: &Path) -> Result<(), Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(part, flags)?;
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    Err(Failure::Failed(Error::Database {
        code: None,
        message: format!("the copy is damaged: {found}").into(),
    }))
}

/// Syncs the folder of a file, so that the file's name survives power loss.
pub(super) fn sync_folder(path: &Path) -> Result<(), Error> {
    // The parent of a bare file name is the empty path, which can't be opened.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}
