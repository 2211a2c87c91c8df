//! Where a database keeps its files.
//!
//! [`Folder`] is a folder of the file system. Another [`Storage`] can encrypt, keep everything in
//! memory, or fail on purpose: see [`Db::open_on`](crate::Db::open_on).

mod failure;
mod folder;

use std::io;

pub use failure::StorageFailure;
pub use folder::Folder;

/// A flat folder of files, of one database alone.
///
/// What the database asks of it:
/// - Bytes that [`StorageFile::append`] took and [`StorageFile::sync`] confirmed survive a crash.
///   Of bytes that were not confirmed any part may survive, in any order.
/// - A file that was created, renamed or removed is so after a crash too once
///   [`Storage::sync_folder`] has returned. Before that it may be either way.
/// - A file name is one that the database gave: ASCII letters, digits, `-` and `.`.
pub trait Storage: Send + Sync + 'static {
    /// All files, in any order; others may be among them.
    fn list(&self) -> io::Result<Vec<StoredFile>>;

    /// Replaces the content of `into` by the whole content of a file.
    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()>;

    /// A new, empty file, in the place of what had the name.
    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;

    /// Gives the file `from` the name `to`, in the place of what had it; at once or not at all.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes created, renamed and removed names durable.
    fn sync_folder(&self) -> io::Result<()>;
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub length: u64,
}

/// A file that grows.
pub trait StorageFile: Send {
    /// Adds bytes at the end. After an error any part of them may stand there: the database writes
    /// no more to this file then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes all bytes durable that were added. After an error the database takes none of them for
    /// durable, and writes those that it still has to another file.
    fn sync(&mut self) -> io::Result<()>;
}
