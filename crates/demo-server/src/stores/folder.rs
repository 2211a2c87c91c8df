use std::fs::{File, TryLockError};
use std::path::PathBuf;

use super::OpenError;

/// An exclusive lock on the data folder. Released on drop, or by the system if the process dies.
pub(super) struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    // Closing the file is not enough: a child process that has not yet called exec still holds a
    // copy of it, and with it the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl FolderLock {
    /// Creates the folder if it is missing.
    pub(super) fn take(folder: PathBuf) -> Result<Self, OpenError> {
        let locked = std::fs::create_dir_all(&folder)
            .and_then(|()| File::create(folder.join("demo-server.lock")))
            .map(|file| (file.try_lock(), file));
        match locked {
            Ok((Ok(()), file)) => Ok(Self { file }),
            Ok((Err(TryLockError::WouldBlock), _)) => Err(OpenError::FolderInUse { folder }),
            Ok((Err(TryLockError::Error(source)), _)) | Err(source) => {
                Err(OpenError::Folder { folder, source })
            }
        }
    }
}
