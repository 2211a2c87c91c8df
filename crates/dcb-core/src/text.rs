//! The one check that every name in the vocabulary goes through.

use memchr::memchr;

use crate::{Error, Problem};

/// Refuses an empty text, one with a NUL character (no SQL database stores it in text) and one of
/// more than `max_chars` characters.
pub(crate) fn check(text: &str, max_chars: usize) -> Result<(), Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    check_content(text, max_chars)
}

/// As [`check`], for a text that may be empty.
pub(crate) fn check_content(text: &str, max_chars: usize) -> Result<(), Problem> {
    if memchr(0, text.as_bytes()).is_some() {
        return Err(Problem::ContainsNul);
    }
    // A text has at most as many characters as bytes: the count is only taken where it may matter.
    if text.len() > max_chars {
        let actual = text.chars().count();
        if actual > max_chars {
            return Err(Problem::TooLong {
                max: max_chars,
                actual,
            });
        }
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
