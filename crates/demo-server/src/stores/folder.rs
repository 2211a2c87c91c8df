use std::fs::{File, TryLockError};
use std::path::PathBuf;

use super::OpenError;

/// The right to the data folder, given up on drop and with the process, however it ends.
pub(super) struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    /// By name: a process that is being started has the file, too, until it runs its own program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl FolderLock {
    /// Makes the folder where there is none.
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
