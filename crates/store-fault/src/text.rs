use std::fmt;
use std::str::FromStr;

/// The conversions of a type of checked text, besides its `new` and `as_str`: from texts, into a
/// `String`, `AsRef` and `Display`. Only implementations of stores need this.
#[macro_export]
macro_rules! text_conversions {
    ($text:ty, $error:ty) => {
        impl std::str::FromStr for $text {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $text {
            type Error = $error;

            fn try_from(text: &str) -> Result<Self, $error> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $text {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
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

/// Writes a place in a log, `17@018f3c5e-…`, or `17` without an id. Only implementations of stores need
/// this.
///
/// # Errors
/// Those of the formatter.
pub fn write_place(
    formatter: &mut fmt::Formatter<'_>,
    position: impl fmt::Display,
    id: Option<impl fmt::Display>,
) -> fmt::Result {
    match id {
        Some(id) => write!(formatter, "{position}@{id}"),
        None => position.fmt(formatter),
    }
}

/// Reads what [`write_place`] writes. `None` for any other text.
pub fn parse_place<P: FromStr, I: FromStr>(text: &str) -> Option<(P, Option<I>)> {
    let (position, id) = match text.split_once('@') {
        Some((position, id)) => (position, Some(id.parse().ok()?)),
        None => (text, None),
    };
    Some((position.parse().ok()?, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_a_position_with_or_without_an_id() {
        assert_eq!(parse_place::<u64, u8>("17@5"), Some((17, Some(5))));
        assert_eq!(parse_place::<u64, u8>("17"), Some((17, None)));
        for malformed in ["", "@5", "17@", "17@x", "x@5", "17@5@6"] {
            assert_eq!(parse_place::<u64, u8>(malformed), None, "{malformed}");
        }
    }
}
