//! Maps SQLite's result codes. No other module looks at them.

use rusqlite::{Error, ErrorCode, ffi};
use store_fault::{Fault, Reason};

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

/// The fault of a statement that had no effect. Don't use it for a COMMIT whose outcome is unknown.
pub fn fault(error: &Error) -> Fault {
    let kind = match (failure(error), error.sqlite_error_code()) {
        (Failure::Busy, _) => Fault::Locked,
        (Failure::Refused, Some(ErrorCode::ReadOnly)) => Fault::ReadOnly,
        (Failure::Refused, _) => Fault::Unreachable,
        (Failure::DiskFull, _) => Fault::DiskFull,
        (Failure::NotADatabase, _) => Fault::NotADatabase,
        (Failure::Other, Some(ErrorCode::SystemIoFailure)) => Fault::FileFailed,
        (Failure::Data | Failure::Other, _) => Fault::Refused,
    };
    kind(reason(error))
}

fn reason(error: &Error) -> Reason {
    let reason = match error {
        Error::FromSqlConversionFailure(column, ..)
        | Error::InvalidColumnType(column, ..)
        | Error::IntegralValueOutOfRange(column, _) => {
            Reason::new(format!("column {column} of a stored row is malformed"))
        }
        _ => Reason::new(error.to_string()),
    };
    match error.sqlite_error() {
        Some(failed) => reason.with_code(name(failed.extended_code)),
        None => reason,
    }
}

/// SQLite's name for a result code, without what extends it.
fn name(code: i32) -> String {
    /// The codes in order.
    const NAMES: &str = "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT \
        NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT \
        RANGE NOTADB";
    let name = NAMES.split(' ').nth((code & 0xff) as usize);
    name.map_or_else(|| code.to_string(), |name| format!("SQLITE_{name}"))
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

    #[test]
    fn fault_has_sqlites_name_for_the_code() {
        for (code, text) in [
            (
                ffi::SQLITE_BUSY_SNAPSHOT,
                "another session holds a lock: no (code SQLITE_BUSY)",
            ),
            (ffi::SQLITE_FULL, "the disk is full: no (code SQLITE_FULL)"),
            (
                ffi::SQLITE_IOERR_FSYNC,
                "a file of the database can't be read or written: no (code SQLITE_IOERR)",
            ),
            (
                ffi::SQLITE_NOTADB,
                "the file can't be used: no (code SQLITE_NOTADB)",
            ),
            (
                ffi::SQLITE_READONLY,
                "the database is read-only: no (code SQLITE_READONLY)",
            ),
            (
                ffi::SQLITE_CANTOPEN,
                "the database can't be reached: no (code SQLITE_CANTOPEN)",
            ),
            (
                ffi::SQLITE_CORRUPT,
                "the database failed: no (code SQLITE_CORRUPT)",
            ),
        ] {
            let failed = Error::SqliteFailure(ffi::Error::new(code), Some("no".to_owned()));
            assert_eq!(fault(&failed).to_string(), text);
        }
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
