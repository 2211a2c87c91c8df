//! The store's errors for what SQLite and its files report.

use sqlite_store::{BackupError, fault, is_busy};

use crate::{Error, Fault, Reason};

/// Why SQLite did not do what the store asked for. Private, so that the crate's `Error` names no type
/// of the driver.
pub(super) enum Failure {
    /// Another connection holds a lock; nothing was written, and a retry may succeed.
    Busy(Error),
    /// Nothing was written.
    Failed(Error),
    /// The commit itself failed; the changes may or may not be stored.
    Unknown(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(failed: rusqlite::Error) -> Self {
        let error = fault(&failed).into();
        if is_busy(&failed) {
            Self::Busy(error)
        } else {
            Self::Failed(error)
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(failed: std::io::Error) -> Self {
        Self::Failed(failed.into())
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let (Failure::Busy(error) | Failure::Failed(error) | Failure::Unknown(error)) = failure;
        error
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault.into())
    }
}

impl From<BackupError> for Failure {
    fn from(failed: BackupError) -> Self {
        match failed {
            BackupError::Sqlite(failed) => failed.into(),
            BackupError::Io(failed) => failed.into(),
            BackupError::Damaged(found) => {
                let found = format!("the copy is damaged: {found}");
                Self::Failed(Fault::Refused(Reason::new(found)).into())
            }
        }
    }
}
