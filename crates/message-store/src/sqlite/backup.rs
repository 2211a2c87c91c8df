use std::fs::{self, File};
use std::path::Path;

use rusqlite::Connection;
use uuid::Uuid;

use super::statements;
use crate::Error;

/// Copies what a connection sees into a new file, which is whole and on disk before it has its name.
pub(super) fn write(connection: &Connection, path: &Path) -> Result<(), Error> {
    // Of a name that nobody else has: it is removed again.
    let part = path.with_added_extension(format!("part-{}", Uuid::now_v7().simple()));
    let written = copy(connection, &part).and_then(|()| {
        // Unlike a rename, a link never takes the place of a file that is there.
        fs::hard_link(&part, path)?;
        sync_folder(path)
    });
    let removed = fs::remove_file(&part);
    written?;
    Ok(removed?)
}

fn copy(connection: &Connection, part: &Path) -> Result<(), Error> {
    let name = part.to_str().ok_or_else(|| Error::Io {
        reason: "the path of a backup must be UTF-8".into(),
    })?;
    // SQLite takes an empty file, and would not say why it can't make one.
    File::create_new(part)?;
    connection.execute(statements::BACKUP, [name])?;
    Ok(File::open(part)?.sync_all()?)
}

/// Makes a new name in a folder last.
pub(super) fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}
