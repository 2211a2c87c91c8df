//! Maps SQLite's result codes. No other module looks at them.

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::Error;
use crate::error::shared;

/// Whether another connection holds a lock, so that a retry may succeed.
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

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let message = error.to_string().into();
        match error.sqlite_error_code() {
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly,
            ) => Self::Unavailable {
                source: shared(error.to_string()),
            },
            Some(ErrorCode::NotADatabase) => Self::SchemaMismatch {
                differences: vec![error.to_string()],
            },
            Some(code) => Self::Database {
                code: Some(format!("{code:?}").into()),
                message,
            },
            None => Self::Database {
                code: None,
                message,
            },
        }
    }
}
