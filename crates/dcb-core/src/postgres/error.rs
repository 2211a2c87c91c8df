//! The store's errors for the driver's.

use postgres_store::{StoreError, fault, violated_constraint};

use crate::text::invalid;
use crate::{Error, Fault, Problem};

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
    fault(error).into()
}

impl StoreError for Error {
    fn invalid(field: &'static str, reason: String) -> Self {
        invalid(field)(Problem::malformed(reason))
    }

    fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    fn is_out_of_place(&self) -> bool {
        self.is_of_another_past()
    }
}
