//! The store's errors for the driver's.

use postgres_store::{StoreError, fault, violated_constraint};

use crate::text::invalid;
use crate::{Error, Fault, Problem};

/// Whether a message failed because another transaction stored its id after the server had looked it
/// up.
pub(super) fn is_id_taken(error: &sqlx::Error) -> bool {
    violated_constraint(error) == Some("messages_id")
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
        matches!(
            self,
            Self::AfterBeyondHead { .. } | Self::PastReplaced { .. }
        )
    }
}
