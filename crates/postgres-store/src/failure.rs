//! The meaning of the driver's errors. No other file of the stores knows SQLSTATEs.

use std::sync::Arc;

use group_commit::CommitError;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;
use store_fault::{Fault, Reason};

use crate::connect_error::connect_error;

/// The role lacks a right.
pub const INSUFFICIENT_PRIVILEGE: &str = "42501";

const PROTOCOL_VIOLATION: &str = "08P01";
/// Advice for a pooler that refuses the settings of a session.
const POOLER: &str = "the URL leads to a pooler: if it has pool_mode = transaction, set \
    Config::transaction_pooling; if it has pool_mode = session, name the parameter in its \
    ignore_startup_parameters, or connect to the server itself";

/// Why a server takes no writes.
const STANDBY: &str = "the server is a standby, or default_transaction_read_only is on";

/// How a statement failed: whether it took effect, and whether it may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection is gone. The statement may have taken effect.
    Lost,
    /// No connection was available, so the statement was not sent. A later call may get one.
    NotSent,
    /// The data is invalid, or too much for one transaction. The same statement will fail again; a
    /// part of its data may succeed alone.
    Data,
    /// The server ended a deadlock by this error. The statement had no effect, and may succeed if
    /// repeated.
    Deadlock,
    /// The statement was cancelled by its timeout and had no effect.
    Cancelled,
    /// The server accepts no writes in this session: it is a standby, or
    /// `default_transaction_read_only` was on when the session began. The statement had no effect. A
    /// new session may lead to another server, or find the setting changed.
    ReadOnly,
    /// The session can't run the statement: it lost a prepared statement, a prepared statement
    /// returns other types since a table was changed, or a failed transaction is open. The statement
    /// had no effect, and may succeed in a new session.
    Session,
    /// The server refused the statement, which had no effect. Or it refuses the session for good: the
    /// password is wrong, the database does not exist, or no connection can be encrypted as demanded.
    Refused,
}

impl Failure {
    /// Whether no statement may run in the session any more.
    pub fn ends_session(self) -> bool {
        matches!(self, Self::Lost | Self::ReadOnly | Self::Session)
    }

    /// The result of a batch whose statement failed with this error.
    /// `None` if the batch may be written, so that its outcome must be looked up.
    pub fn of_batch<E>(self, error: E) -> Option<CommitError<E>> {
        match self {
            Self::Lost => None,
            // The queue splits the batch, so that only the faulty request fails.
            Self::Data => Some(CommitError::Refused(error)),
            // The server gave up in time for the first caller whose time ends.
            Self::Cancelled => Some(CommitError::Late),
            Self::NotSent | Self::Deadlock | Self::ReadOnly | Self::Session | Self::Refused => {
                Some(CommitError::Failed(error))
            }
        }
    }
}

/// Classifies the error of a statement.
pub fn failure(error: &sqlx::Error) -> Failure {
    if let Some(cause) = connect_error(error) {
        return match cause.is_transient() {
            true => Failure::NotSent,
            false => Failure::Refused,
        };
    }
    let Some(database) = error.as_database_error() else {
        return match error {
            // The answer arrived, so the connection is fine.
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                Failure::Refused
            }
            // A certificate that is not trusted, a server without encryption, or options that contradict
            // each other. The same attempt will fail again.
            sqlx::Error::Tls(_) | sqlx::Error::Configuration(_) => Failure::Refused,
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Failure::NotSent,
            // The safe assumption for I/O errors and everything unforeseen.
            _ => Failure::Lost,
        };
    };
    let code = database.code().unwrap_or_default();
    match code.as_ref() {
        "40P01" => Failure::Deadlock,
        // Out of memory, usually the table of locks. A batch of half the size may fit.
        "53200" => Failure::Data,
        "57014" => Failure::Cancelled,
        // The server ended the session (administrator, shutdown, crash of another process, dropped
        // database, timeout of an idle session or of a transaction), or it refuses connections
        // because it is starting or shutting down.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" | "25P04" => Failure::Lost,
        "25006" => Failure::ReadOnly,
        // A failed transaction is open; the prepared statement does not exist; it exists already.
        "25P02" | "26000" | "42P05" => Failure::Session,
        "0A000" if is_outdated_plan(database) => Failure::Session,
        PROTOCOL_VIOLATION if is_refused_parameter(database) => Failure::Refused,
        code => match code.get(..2) {
            // Connection exceptions.
            Some("08") => Failure::Lost,
            // Data exceptions, constraint violations, and limits exceeded.
            Some("22" | "23" | "54") => Failure::Data,
            _ => Failure::Refused,
        },
    }
}

/// The fault of a statement that had no effect, or whose effect does not matter.
pub fn fault(error: &sqlx::Error) -> Fault {
    let (code, message) = code_and_message(error);
    let kind = match failure(error) {
        Failure::Lost | Failure::NotSent | Failure::Session => Fault::Unreachable,
        Failure::ReadOnly => Fault::ReadOnly,
        _ => kind_of(code.as_deref().unwrap_or_default()),
    };
    let reason = match failure(error) {
        Failure::ReadOnly => Reason::new(format!("{STANDBY}: {message}")),
        _ => Reason::new(message),
    };
    let reason = match code {
        Some(code) => reason.with_code(code),
        None => reason,
    };
    kind(match connect_error(error) {
        Some(cause) => reason.with_source(cause.clone()),
        None => reason,
    })
}

/// The kind of a fault for an SQLSTATE with which the session goes on.
fn kind_of(code: &str) -> fn(Reason) -> Fault {
    match code {
        "53100" => Fault::DiskFull,
        // A lock was not free within `lock_timeout`.
        "55P03" => Fault::Locked,
        code => match code.get(..2) {
            // The transaction was rolled back, resources are short, or an operator intervened.
            Some("40" | "53" | "57") => Fault::Aborted,
            _ => Fault::Refused,
        },
    }
}

/// Whether a prepared statement would return other types than when it was prepared. Every
/// unsupported feature has this SQLSTATE, and messages are translated. So only the name of the
/// server's C function identifies the error.
fn is_outdated_plan(error: &dyn DatabaseError) -> bool {
    let error = error.try_downcast_ref::<PgDatabaseError>();
    error.and_then(PgDatabaseError::routine) == Some("RevalidateCachedQuery")
}

/// Whether a pooler refuses a setting with which the session starts. PgBouncer's messages are not
/// translated.
fn is_refused_parameter(error: &dyn DatabaseError) -> bool {
    error.message().starts_with("unsupported startup parameter")
}

/// The SQLSTATE of an error, if the server sent it, and the message with its details.
pub fn code_and_message(error: &sqlx::Error) -> (Option<Arc<str>>, Arc<str>) {
    if let Some(cause) = connect_error(error) {
        return (cause.code(), cause.to_string().into());
    }
    let Some(database) = error.as_database_error() else {
        return (None, error.to_string().into());
    };
    let code = database.code().map(|code| code.as_ref().into());
    let detail = database
        .try_downcast_ref::<PgDatabaseError>()
        .and_then(PgDatabaseError::detail);
    let message = database.message();
    let message = match detail {
        _ if is_refused_parameter(database) => format!("{message}; {POOLER}").into(),
        Some(detail) => format!("{message}: {detail}").into(),
        None => message.into(),
    };
    (code, message)
}

/// The constraint that an INSERT or UPDATE violated, if that is why it failed.
pub fn violated_constraint(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error()?.constraint()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each SQLSTATE of these classes, and no other.
    #[test]
    fn sqlstates_of_conflicts_resources_and_interventions_are_transient() {
        for (code, is_transient) in [
            ("40001", true),
            ("40P01", true),
            ("53100", true),
            ("53200", true),
            ("53300", true),
            ("57014", true),
            ("55P03", true),
            ("55006", false),
            ("23505", false),
            ("42P01", false),
            ("XX000", false),
        ] {
            let fault = kind_of(code)(Reason::new(""));
            assert_eq!(fault.is_transient(), is_transient, "{code}");
        }
    }
}
