//! Translates the driver's errors into the store's. The only place that knows SQLSTATEs.

use sqlx::postgres::PgDatabaseError;

use crate::Error;
use crate::error::shared;

/// The consequence of a failed statement for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection is gone. The statement may have taken effect.
    Lost,
    /// No connection was available, so the statement was not sent.
    NotSent,
    /// The data is at fault, and the same statement will fail again.
    Data,
    /// The statement was cancelled by its timeout and had no effect.
    Cancelled,
    /// The server refused the statement, which had no effect.
    Refused,
}

/// Classifies the error of a statement.
pub(super) fn failure(error: &sqlx::Error) -> Failure {
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                Failure::Refused
            }
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Failure::NotSent,
            // The safe assumption for I/O errors and everything unforeseen.
            _ => Failure::Lost,
        };
    };
    match database.code().as_deref() {
        Some("57014") => Failure::Cancelled,
        // The server ended the session (administrator, shutdown, crash of another process, idle
        // timeout), or it refuses connections because it is starting or shutting down.
        Some("57P01" | "57P02" | "57P03" | "57P05" | "25P03") => Failure::Lost,
        // Class 08 is "connection exception".
        Some(code) if code.starts_with("08") => Failure::Lost,
        // Data exceptions, constraint violations, and limits exceeded.
        Some(code)
            if ["22", "23", "54"]
                .iter()
                .any(|class| code.starts_with(class)) =>
        {
            Failure::Data
        }
        _ => Failure::Refused,
    }
}

/// Whether an INSERT failed because another event has the position. Either the event or one of its
/// tags violates a primary key.
pub(super) fn is_position_taken(error: &sqlx::Error) -> bool {
    let constraint = error
        .as_database_error()
        .and_then(|error| error.constraint());
    matches!(constraint, Some("event_pkey" | "event_tag_pkey"))
}

/// The store's error for a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &sqlx::Error) -> Error {
    match (failure(error), error.as_database_error()) {
        (Failure::Lost | Failure::NotSent, _) => Error::Unavailable {
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
