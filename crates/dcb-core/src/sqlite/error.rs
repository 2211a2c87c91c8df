//! The store's errors for what SQLite and its files report.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Error as Sqlite;
use sqlite_store::{BackupError, Failure, FileMoved, failure};

use crate::Error;
use crate::error::shared;

/// The store's error for a statement that had no effect. Don't use it for a COMMIT whose outcome is
/// unknown.
pub(super) fn error(error: &Sqlite) -> Error {
    match failure(error) {
        // A busy file is as transient as an unreachable one.
        Failure::Refused | Failure::Busy => Error::Unavailable {
            source: shared(error.to_string()),
        },
        Failure::DiskFull => Error::DiskFull {
            message: error.to_string().into(),
        },
        Failure::Data | Failure::NotADatabase | Failure::Other => Error::Database {
            code: None,
            message: message(error).into(),
        },
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

pub(super) fn moved(file: FileMoved) -> Error {
    Error::FileMoved { path: file.path }
}

pub(super) fn backup_error(failed: BackupError) -> Error {
    match failed {
        BackupError::Sqlite(failed) => error(&failed),
        BackupError::Io(failed) => Error::Io {
            source: Arc::new(failed),
        },
        BackupError::Damaged(found) => Error::Database {
            code: None,
            message: format!("the copy is damaged: {found}").into(),
        },
    }
}
