//! What SQLite reports, told in the store's own words. The one place that knows its codes.

use rusqlite::{Error as Sqlite, ErrorCode};

use crate::Error;

/// Whether somebody else is in the way for now.
pub(super) fn is_busy(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Whether the data is at fault: the same statement will fail again.
pub(super) fn is_of_data(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
    )
}

/// Whether a commit that failed so may be in the write-ahead log all the same, for who opens the
/// file next.
pub(super) fn leaves_commit_unknown(error: &Sqlite) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed)
    )
}

/// An error of a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &Sqlite) -> Error {
    let cannot_be_reached = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
        )
    );
    if cannot_be_reached {
        return Error::Unavailable {
            reason: error.to_string().into(),
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
            format!("column {column} of a stored event has another form")
        }
        _ => error.to_string(),
    }
}
