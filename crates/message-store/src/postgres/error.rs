//! Maps the driver's errors. No other module looks at SQLSTATEs.

use sqlx::postgres::PgDatabaseError;

use crate::Error;
use crate::error::shared;

/// The meaning of a failed statement for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection is lost; the statement may or may not have taken effect.
    Lost,
    /// The data is invalid or too large for one transaction. A part of the batch may succeed on its
    /// own.
    Data,
    /// An id was stored by another transaction after the server had looked it up.
    IdTaken,
    /// The server aborted the statement to end a deadlock; it had no effect. A retry may succeed.
    Deadlock,
    /// The statement hit its time limit; it had no effect.
    Cancelled,
    /// The server rejected the statement; it had no effect.
    Refused,
}

/// Classifies the error of a statement.
pub(super) fn failure(error: &sqlx::Error) -> Failure {
    let Some(database) = error.as_database_error() else {
        return match error {
            // The answer arrived, so the connection is fine.
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                Failure::Refused
            }
            _ => Failure::Lost,
        };
    };
    let code = database.code().unwrap_or_default();
    match code.as_ref() {
        "23505" if database.constraint() == Some("messages_id") => Failure::IdTaken,
        "40P01" => Failure::Deadlock,
        // The server's lock table is full. A batch with half as many categories may fit.
        "53200" => Failure::Data,
        "57014" => Failure::Cancelled,
        // An administrator, a shutdown, a crash of another process or a timeout ended the session.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Failure::Lost,
        code => match code.get(..2) {
            Some("08") => Failure::Lost,
            Some("22" | "23" | "54") => Failure::Data,
            _ => Failure::Refused,
        },
    }
}

/// Converts the error of a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &sqlx::Error) -> Error {
    match (failure(error), error.as_database_error()) {
        (Failure::Lost, _) => Error::Unavailable {
            source: shared(error.to_string()),
        },
        (_, Some(database)) => Error::Database {
            code: database.code().map(|code| code.as_ref().into()),
            message: message(database.downcast_ref::<PgDatabaseError>()),
        },
        (_, None) => Error::Database {
            code: None,
            message: error.to_string().into(),
        },
    }
}

fn message(error: &PgDatabaseError) -> std::sync::Arc<str> {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.message()).into(),
        None => error.message().into(),
    }
}
