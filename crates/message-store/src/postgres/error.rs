//! The store's errors for the driver's.

use postgres_store::{DISK_FULL, Failure, code_and_message, failure, violated_constraint};

use crate::Error;
use crate::error::shared;

/// Whether a message failed because another transaction stored its id after the server had looked it
/// up.
pub(super) fn is_id_taken(error: &sqlx::Error) -> bool {
    violated_constraint(error) == Some("messages_id")
}

/// The store's error for a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &sqlx::Error) -> Error {
    match failure(error) {
        Failure::Lost | Failure::NotSent | Failure::Session => Error::Unavailable {
            source: shared(error.to_string()),
        },
        Failure::ReadOnly => Error::ReadOnly {
            message: code_and_message(error).1,
        },
        _ => {
            let (code, message) = code_and_message(error);
            if code.as_deref() == Some(DISK_FULL) {
                return Error::DiskFull { message };
            }
            Error::Database { code, message }
        }
    }
}
