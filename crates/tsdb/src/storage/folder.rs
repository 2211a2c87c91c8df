use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Storage, StorageFailure, StorageFile, StoredFile};
use crate::Error;

/// The file whose lock marks the folder as in use. The file itself is never removed.
const LOCK: &str = "lock";

/// A folder of the file system, locked while this value exists.
///
/// The operating system holds the lock, and releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: File,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing the file is not enough: between fork and exec, a child process also has the file
        // open, and would keep the lock.
        let _ = self.lock.unlock();
    }
}

impl Folder {
    /// Locks the folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::FolderInUse`] if a database has it open, in this process or in another.
    /// [`Error::Storage`] or [`Error::DiskFull`] if the folder or the lock file can't be created.
    pub fn lock(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let fail = |action| move |cause| Error::from(StorageFailure::new(action, LOCK, cause));
        create_durably(&path).map_err(fail("create the folder of"))?;
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            // Another database may hold the lock on this file.
            .truncate(false)
            .open(path.join(LOCK))
            .map_err(fail("create"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, lock }),
            Err(TryLockError::WouldBlock) => Err(Error::FolderInUse { path }),
            Err(TryLockError::Error(cause)) => Err(fail("lock")(cause)),
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a folder and its parents durably.
fn create_durably(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_durably(parent)?;
    match fs::create_dir(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.and_then(|()| sync_path(parent)),
    }
}

fn sync_path(folder: &Path) -> io::Result<()> {
    // Windows can't sync a folder. Its file systems journal their metadata.
    if cfg!(windows) {
        return Ok(());
    }
    File::open(folder)?.sync_all()
}

impl Storage for Folder {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not UTF-8 is not a file of the database.
            if let Ok(name) = entry.file_name().into_string() {
                let length = entry.metadata()?.len();
                files.push(StoredFile { name, length });
            }
        }
        Ok(files)
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        File::open(self.path.join(name))?.read_to_end(into)?;
        Ok(())
    }

    fn read_from(&self, name: &str, offset: u64, max: usize, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        let mut file = File::open(self.path.join(name))?;
        file.seek(SeekFrom::Start(offset))?;
        file.take(max as u64).read_to_end(into)?;
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(File::create(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        sync_path(&self.path)
    }
}

impl StorageFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        // `sync_data` is enough for appends: it syncs the length, but not the time of the last
        // change.
        self.sync_data()
    }
}
