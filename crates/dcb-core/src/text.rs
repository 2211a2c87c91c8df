//! Checks of texts: types, tags, metadata keys and values, names.

use memchr::memchr;

use crate::{Error, Problem};

/// Refuses a text that is empty, contains a NUL character (PostgreSQL can't store one in text) or
/// has more than `max_chars` characters.
pub(crate) fn check(text: &str, max_chars: usize) -> Result<(), Problem> {
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    check_content(text, max_chars)
}

/// Like [`check`], but allows an empty text.
pub(crate) fn check_content(text: &str, max_chars: usize) -> Result<(), Problem> {
    if memchr(0, text.as_bytes()).is_some() {
        return Err(Problem::ContainsNul);
    }
    // A text never has more characters than bytes, so a short text needs no count.
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

/// Turns a problem into an [`Error::Invalid`] for this field.
pub(crate) fn invalid(field: impl Into<String>) -> impl FnOnce(Problem) -> Error {
    move |problem| Error::Invalid {
        field: field.into(),
        problem,
    }
}
