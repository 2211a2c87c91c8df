use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use store_fault::Fault;

/// The file that a store has open, to notice when its path leads to another file or to none.
///
/// SQLite goes on writing to a file that was moved or removed, and everything in it is gone when the
/// path is opened again.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    path: PathBuf,
    identity: Identity,
}

/// The device and the inode.
type Identity = (u64, u64);

impl OpenedFile {
    /// The file at this path. Call it right after SQLite opened it.
    ///
    /// # Errors
    /// [`Fault::FileMoved`] if there is none.
    pub fn at(path: &Path) -> Result<Self, Fault> {
        let path = path.to_owned();
        match identity(&path) {
            Ok(identity) => Ok(Self { path, identity }),
            Err(_) => Err(Fault::FileMoved { path }),
        }
    }

    /// The path at which the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if the path no longer leads to the file. Costs a `stat`, about 1 us.
    ///
    /// # Errors
    /// [`Fault::FileMoved`].
    pub fn check(&self) -> Result<(), Fault> {
        // Like SQLite's own check, count a path that can't be looked up as moved.
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            return Ok(());
        }
        Err(Fault::FileMoved {
            path: self.path.clone(),
        })
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Other systems don't move or remove a file that SQLite has open.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|_| (0, 0))
}
