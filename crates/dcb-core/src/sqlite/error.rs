//! The store's errors for what SQLite and its files report.

use std::sync::Arc;

use sqlite_store::{BackupError, fault};

use crate::{Error, Fault, Reason};

/// The store's error for a statement that had no effect. Don't use it for a COMMIT whose outcome is
/// unknown.
pub(super) fn error(error: &rusqlite::Error) -> Error {
    fault(error).into()
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
