//! The store's errors for what SQLite and its files report.

use std::sync::Arc;
use std::time::Duration;

use sqlite_store::{BackupError, fault};

use crate::{Error, Fault, Reason};

/// The store's error for a statement that had no effect. Don't use it for a COMMIT whose outcome is
/// unknown.
pub(super) fn error(error: &rusqlite::Error) -> Error {
    fault(error).into()
}

/// The error of an append whose time ended before its commit began.
pub(super) fn timed_out(limit: Duration) -> Error {
    Error::Fault(Fault::TimedOut {
        operation: "append",
        limit,
    })
}

pub(super) fn backup_error(failed: BackupError) -> Error {
    match failed {
        BackupError::Sqlite(failed) => error(&failed),
        BackupError::Io(failed) => Error::Io {
            source: Arc::new(failed),
        },
        BackupError::Damaged(found) => {
            let found = format!("the copy is damaged: {found}");
            Fault::Refused(Reason::new(found)).into()
        }
    }
}
