//! Maps SQLite's result codes. No other module looks at them.

use rusqlite::{Error, ErrorCode, ffi};

/// The meaning of a failed statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Another connection holds a lock. A repetition may succeed.
    Busy,
    /// The file, or a file that SQLite needs beside it, can't be opened or written.
    Refused,
    /// The disk is full, or the file has reached its maximum size.
    DiskFull,
    /// The data of the statement, so the same statement fails again.
    Data,
    /// The file is no SQLite database.
    NotADatabase,
    /// Anything else.
    Other,
}

/// The meaning of a failed statement.
pub fn failure(error: &Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Busy,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            Failure::Refused
        }
        Some(ErrorCode::DiskFull) => Failure::DiskFull,
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
            Failure::Data
        }
        Some(ErrorCode::NotADatabase) => Failure::NotADatabase,
        _ => Failure::Other,
    }
}

/// Whether another connection holds a lock.
pub fn is_busy(error: &Error) -> bool {
    failure(error) == Failure::Busy
}

/// Whether the error is a violation of a unique index.
pub fn is_taken(error: &Error) -> bool {
    matches!(
        error.sqlite_error().map(|error| error.extended_code),
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
    )
}

/// Whether a commit that failed this way may still be in the write-ahead log, and so reappear when the
/// file is opened again.
///
/// After a lock, a full disk or a violated constraint it is not: SQLite writes the frame that completes a
/// commit last.
pub fn leaves_commit_unknown(error: &Error) -> bool {
    !matches!(
        failure(error),
        Failure::Busy | Failure::DiskFull | Failure::Data
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed_with(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    /// SQLite writes the pages of a small transaction during its commit, so a full disk fails there.
    #[test]
    fn commit_that_fails_on_a_lock_a_full_disk_or_its_data_has_written_nothing() {
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_BUSY_SNAPSHOT,
            ffi::SQLITE_FULL,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
        ] {
            assert!(!leaves_commit_unknown(&failed_with(code)), "{code}");
        }
        for code in [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_PROTOCOL,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_READONLY,
        ] {
            assert!(leaves_commit_unknown(&failed_with(code)), "{code}");
        }
    }
}
