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

/// The conversions of a checked text, besides `new` and `as_str`.
macro_rules! text_conversions {
    ($text:ty) => {
        impl std::str::FromStr for $text {
            type Err = crate::Error;

            fn from_str(text: &str) -> Result<Self, crate::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $text {
            type Error = crate::Error;

            fn try_from(text: &str) -> Result<Self, crate::Error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $text {
            type Error = crate::Error;

            fn try_from(text: String) -> Result<Self, crate::Error> {
                Self::new(text)
            }
        }

        impl From<$text> for String {
            fn from(text: $text) -> Self {
                text.as_str().to_owned()
            }
        }

        impl AsRef<str> for $text {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $text {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.as_str().fmt(formatter)
            }
        }
    };
}
pub(crate) use text_conversions;
