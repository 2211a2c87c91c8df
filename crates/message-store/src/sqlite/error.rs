//! The store's errors for what SQLite and its files report.

use sqlite_store::{BackupError, FileMoved, is_busy};

use crate::Error;
use crate::error::shared;

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
        if is_busy(&failed) {
            Self::Busy(error(&failed))
        } else {
            Self::Failed(error(&failed))
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

impl From<FileMoved> for Failure {
    fn from(file: FileMoved) -> Self {
        Self::Failed(Error::FileMoved { path: file.path })
    }
}

impl From<BackupError> for Failure {
    fn from(failed: BackupError) -> Self {
        match failed {
            BackupError::Sqlite(failed) => failed.into(),
            BackupError::Io(failed) => failed.into(),
            BackupError::Damaged(found) => Self::Failed(Error::Database {
                code: None,
                message: format!("the copy is damaged: {found}").into(),
            }),
        }
    }
}

fn error(failed: &rusqlite::Error) -> Error {
    use sqlite_store::Failure as Kind;
    let message = failed.to_string();
    match sqlite_store::failure(failed) {
        Kind::Refused | Kind::Busy => Error::Unavailable {
            source: shared(message),
        },
        Kind::DiskFull => Error::DiskFull {
            message: message.into(),
        },
        Kind::NotADatabase => Error::SchemaMismatch {
            differences: vec![message],
        },
        Kind::Data | Kind::Other => Error::Database {
            code: failed
                .sqlite_error_code()
                .map(|code| format!("{code:?}").into()),
            message: message.into(),
        },
    }
}
