//! The validation that all names share.

use crate::{Error, Problem};

/// Rejects a text that is empty, contains a NUL (PostgreSQL can't store it) or is longer than
/// `max_bytes`.
pub(crate) fn check(text: &str, max_bytes: usize) -> Result<(), Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.contains('\0') {
        return Err(Problem::ContainsNul);
    }
    check_size(text.len(), max_bytes)
}

/// Rejects a size in bytes above `max`.
pub(crate) fn check_size(actual: usize, max: usize) -> Result<(), Problem> {
    if actual > max {
        return Err(Problem::TooLarge {
            max: max as u64,
            actual: actual as u64,
        });
    }
    Ok(())
}

/// Turns a problem into an error for `field`.
pub(crate) fn invalid(field: impl Into<String>) -> impl FnOnce(Problem) -> Error {
    move |problem| Error::Invalid {
        field: field.into(),
        problem,
    }
}
