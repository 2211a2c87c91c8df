//! The one check that every name in the vocabulary goes through.

use crate::{Error, Problem};

/// Refuses an empty text, one with a NUL character (no SQL database stores it in text) and one of
/// more than `max_bytes` bytes.
pub(crate) fn check(text: &str, max_bytes: usize) -> Result<(), Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.contains('\0') {
        return Err(Problem::ContainsNul);
    }
    check_size(text.len(), max_bytes)
}

/// Refuses a size or a count above `max`.
pub(crate) fn check_size(actual: usize, max: usize) -> Result<(), Problem> {
    if actual > max {
        return Err(Problem::TooLarge {
            max: max as u64,
            actual: actual as u64,
        });
    }
    Ok(())
}

/// Names the field of a problem.
pub(crate) fn invalid(field: impl Into<String>) -> impl FnOnce(Problem) -> Error {
    move |problem| Error::Invalid {
        field: field.into(),
        problem,
    }
}

/// A text that does not have the form that was expected.
pub(crate) fn malformed(reason: impl Into<String>) -> Problem {
    Problem::Malformed {
        reason: reason.into(),
    }
}

/// Refuses what can't name a consumer.
#[cfg(any(feature = "conformance", feature = "postgres", feature = "sqlite"))]
pub(crate) fn check_consumer(name: &str) -> Result<(), Error> {
    check(name, crate::StreamName::MAX_BYTES).map_err(invalid("consumer"))
}
