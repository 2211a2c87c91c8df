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

/// The problem to report for a text that does not have the expected form.
pub(crate) fn malformed(reason: impl Into<String>) -> Problem {
    Problem::Malformed {
        reason: reason.into(),
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
