//! The store's errors for the driver's.

use std::sync::Arc;
use std::time::Duration;

use postgres_store::{
    DISK_FULL, Failure, StoreError, code_and_message, connect_error, failure, violated_constraint,
};

use crate::error::shared;
use crate::text::invalid;
use crate::{Error, Problem};

/// Whether an INSERT failed because another event has the position. Either the event or one of its
/// tags violates a primary key.
pub(super) fn is_position_taken(error: &sqlx::Error) -> bool {
    matches!(
        violated_constraint(error),
        Some("event_pkey" | "event_tag_pkey")
    )
}

/// The store's error for a statement that had no effect, or whose effect does not matter.
pub(super) fn error(error: &sqlx::Error) -> Error {
    match failure(error) {
        Failure::Lost | Failure::NotSent | Failure::Session => Error::Unavailable {
            source: source(error),
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

/// The cause if no connection could be opened, else the driver's text.
fn source(error: &sqlx::Error) -> Arc<dyn std::error::Error + Send + Sync> {
    match connect_error(error) {
        Some(cause) => shared(cause.clone()),
        None => shared(error.to_string()),
    }
}

impl StoreError for Error {
    fn closed() -> Self {
        Self::Closed
    }

    fn invalid(field: &'static str, reason: String) -> Self {
        invalid(field)(Problem::Malformed { reason })
    }

    fn timeout(operation: &'static str, limit: Duration) -> Self {
        Self::Timeout { operation, limit }
    }

    fn from_driver(failed: &sqlx::Error) -> Self {
        error(failed)
    }

    fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    fn is_refusal(&self) -> bool {
        matches!(self, Self::Database { .. })
    }

    fn is_out_of_place(&self) -> bool {
        matches!(
            self,
            Self::AfterBeyondHead { .. } | Self::PastReplaced { .. }
        )
    }
}
