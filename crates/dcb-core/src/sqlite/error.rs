//! Maps SQLite errors to the store's errors. No other module inspects SQLite's error codes.

use std::time::Duration;

use rusqlite::{Error as Sqlite, ErrorCode};

use crate::Error;
use crate::error::shared;

/// Whether another connection holds a lock.
pub(super) fn is_busy(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Whether the file, or a file that SQLite needs beside it, can't be opened or written.
pub(super) fn is_refused(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly)
    )
}

/// Whether the data caused the error, so that the same statement fails again.
pub(super) fn is_data_error(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
    )
}

/// Whether a commit that failed this way may still be in the write-ahead log, and so reappear when the
/// file is opened again.
pub(super) fn leaves_commit_unknown(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed)
    )
}

/// The store's error for a statement that had no effect. Don't use it for a COMMIT whose outcome is
/// unknown.
pub(super) fn error(error: &Sqlite) -> Error {
    // A busy file is as transient as an unreachable one.
    if is_refused(error) || is_busy(error) {
        return Error::Unavailable {
            source: shared(error.to_string()),
        };
    }
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return Error::DiskFull {
            message: error.to_string().into(),
        };
    }
    Error::Database {
        code: None,
        message: message(error).into(),
    }
}

fn message(error: &Sqlite) -> String {
    match error {
        Sqlite::FromSqlConversionFailure(column, ..)
        | Sqlite::InvalidColumnType(column, ..)
        | Sqlite::IntegralValueOutOfRange(column, _) => {
            format!("column {column} of a stored event is malformed")
        }
        _ => error.to_string(),
    }
}

/// The error of an append whose time ended before its commit began.
pub(super) fn timed_out(limit: Duration) -> Error {
    Error::Timeout {
        operation: "append",
        limit,
    }
}
