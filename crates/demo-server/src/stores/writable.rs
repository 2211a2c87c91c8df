use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::OpenError;

/// Checks that an existing file, or each file in an existing folder, can be opened for writes. SQLite
/// would open a file that it can't write, and refuse only the writes.
///
/// Call it before the stores are open: closing a file releases SQLite's locks on it.
pub(super) fn check(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::File {
        file: path.to_owned(),
        source,
    };
    match fs::metadata(path) {
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(failed(source)),
        Ok(found) if found.is_dir() => entries(path)
            .map_err(failed)?
            .iter()
            .try_for_each(|entry| check(entry)),
        Ok(_) => {
            let opened = OpenOptions::new().append(true).open(path);
            opened.map(drop).map_err(failed)
        }
    }
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}
