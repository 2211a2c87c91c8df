//! Maps SQLite's result codes. No other module looks at them.

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::Error;
use crate::error::shared;

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Whether the error is a violation of a unique index.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error().map(|error| error.extended_code),
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
    )
}

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

fn error(failed: &rusqlite::Error) -> Error {
    let message = failed.to_string();
    match failed.sqlite_error_code() {
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly,
        ) => Error::Unavailable {
            source: shared(failed.to_string()),
        },
        Some(ErrorCode::DiskFull) => Error::DiskFull {
            message: message.into(),
        },
        Some(ErrorCode::NotADatabase) => Error::SchemaMismatch {
            differences: vec![failed.to_string()],
        },
        code => Error::Database {
            code: code.map(|code| format!("{code:?}").into()),
            message: message.into(),
        },
    }
}
