//! What the driver reports, told in the store's own words. The one place that knows SQLSTATEs.

use sqlx::postgres::PgDatabaseError;

use crate::Error;

/// What a failed statement means for whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The connection is gone; whether the statement took effect is unknown.
    Lost,
    /// There was no connection to send it on.
    NotSent,
    /// The data is at fault: the same statement will fail again.
    Data,
    /// It was cancelled by its timeout; it had no effect.
    Cancelled,
    /// The server refused it; it had no effect.
    Refused,
}

/// The meaning of an error that came from a statement.
pub(super) fn failure(error: &sqlx::Error) -> Failure {
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                Failure::Refused
            }
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Failure::NotSent,
            _ => Failure::Lost,
        };
    };
    match database.code().as_deref() {
        Some("57014") => Failure::Cancelled,
        // The session was ended by an administrator, a shutdown or a crash elsewhere.
        Some("57P01" | "57P02" | "57P03" | "57P05" | "25P03") => Failure::Lost,
        Some(code) if code.starts_with("08") => Failure::Lost,
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

/// Whether an event was to get a position that another has: it finds either that event there, or one
/// of its own tags on it.
pub(super) fn is_position_taken(error: &sqlx::Error) -> bool {
    let constraint = error
        .as_database_error()
        .and_then(|error| error.constraint());
    matches!(constraint, Some("event_pkey" | "event_tag_pkey"))
}

/// An error of a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &sqlx::Error) -> Error {
    match (failure(error), error.as_database_error()) {
        (Failure::Lost | Failure::NotSent, _) => Error::Unavailable {
            reason: error.to_string().into(),
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
