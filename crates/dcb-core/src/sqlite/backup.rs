//! Copies a log to a new file while appends continue.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::error::error;
use super::statements::BACKUP;
use crate::Error;

/// Writes a copy of the connection's snapshot to a new file. The file gets its name only when it is
/// complete, checked and on disk.
pub(super) fn write(connection: &Connection, path: &Path) -> Result<(), Error> {
    // The name is unique, because the file is removed below and must not belong to another backup.
    let part = path.with_added_extension(format!("part-{}", Uuid::now_v7().simple()));
    let written = copy(connection, &part)
        .and_then(|()| check(&part))
        .and_then(|()| give_name(&part, path).map_err(failed));
    // Remove the temporary file even if writing failed, but report that error first.
    let removed = fs::remove_file(&part).map_err(failed);
    written.and(removed)
}

fn copy(connection: &Connection, part: &Path) -> Result<(), Error> {
    let name = part.to_str().ok_or_else(|| {
        let reason = "the backup path must be UTF-8";
        failed(io::Error::new(io::ErrorKind::InvalidInput, reason))
    })?;
    // `VACUUM INTO` accepts an empty file. Creating the file here gives a better error message.
    File::create_new(part).map_err(failed)?;
    let copied = connection.execute(BACKUP, [name]);
    copied.map_err(|failed| error(&failed))?;
    let copy = File::open(part).and_then(|copy| copy.sync_all());
    copy.map_err(failed)
}

/// Checks the pages of the copy, so that damage of the log is not found only when it is restored.
fn check(part: &Path) -> Result<(), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found = Connection::open_with_flags(part, flags)
        .and_then(|copy| copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)));
    let found: String = found.map_err(|failed| error(&failed))?;
    if found == "ok" {
        return Ok(());
    }
    Err(Error::Database {
        code: None,
        message: format!("the copy is damaged: {found}").into(),
    })
}

fn give_name(part: &Path, path: &Path) -> io::Result<()> {
    // Unlike a rename, a hard link fails if the target exists.
    fs::hard_link(part, path)?;
    // The parent of a bare file name is the empty path, which can't be opened.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // Sync the folder, so that the name survives power loss.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn failed(failed: io::Error) -> Error {
    Error::Io {
        source: Arc::new(failed),
    }
}
