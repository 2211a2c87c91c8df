//! The storage for the files of a database.
//!
//! [`Folder`] is a folder of the file system. Other implementations of [`Storage`] can encrypt
//! files, keep them in memory, or fail on purpose in tests. Pass them to
//! [`Db::open_on`](crate::Db::open_on).

mod failure;
mod folder;

use std::io;

pub use failure::StorageFailure;
pub use folder::Folder;

/// A flat folder of files, used by a single database.
///
/// The database relies on these guarantees:
/// - Bytes survive a crash once [`StorageFile::append`] has accepted them and [`StorageFile::sync`]
///   has returned. Of later bytes, any part may survive, in any order.
/// - Creating, renaming or removing a file survives a crash once [`Storage::sync_folder`] has
///   returned. Until then, a crash may undo it.
///
/// The database uses file names of ASCII letters, digits, `-` and `.`.
pub trait Storage: Send + Sync + 'static {
    /// Lists all files, in any order. The list may contain files that the database did not create.
    fn list(&self) -> io::Result<Vec<StoredFile>>;

    /// Replaces the content of `into` with the content of a file.
    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()>;

    /// Replaces the content of `into` with up to `max` bytes of a file, from `offset` on. Fewer only at
    /// the end of the file, and none beyond it.
    ///
    /// The default reads the whole file.
    fn read_from(&self, name: &str, offset: u64, max: usize, into: &mut Vec<u8>) -> io::Result<()> {
        self.read(name, into)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        into.drain(..start.min(into.len()));
        into.truncate(max);
        Ok(())
    }

    /// Creates an empty file, and replaces an existing one of that name.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;

    /// Renames a file atomically, and replaces an existing file with the name `to`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes created, renamed and removed names durable.
    fn sync_folder(&self) -> io::Result<()>;
}

/// An existing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The name.
    pub name: String,
    /// The length in bytes.
    pub length: u64,
}

/// A file open for appending. The database syncs a file while it appends to it.
pub trait StorageFile: Send + Sync {
    /// Appends bytes. After an error the file may contain any part of them. The database then stops
    /// writing to it.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Makes all bytes durable that were appended before the call. After an error the database assumes that none of the bytes
    /// since the last sync are durable, and writes them to another file.
    fn sync(&self) -> io::Result<()>;
}
