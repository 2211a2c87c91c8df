use std::fmt;

use crate::Error;
use crate::text::{check, invalid};

/// What an event is about, for example `course_id:c1`: 1 to 1,024 characters, none of them NUL.
///
/// `key:value` is a convention that [`Tag::pair`] follows; nothing requires it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

impl Tag {
    /// The longest tag, in characters.
    pub const MAX_CHARS: usize = 1024;

    /// A checked tag.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `tags`.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        check(&text, Self::MAX_CHARS).map_err(invalid("tags"))?;
        Ok(Self(text))
    }

    /// The tag `key:value`.
    ///
    /// # Errors
    /// As [`Tag::new`].
    pub fn pair(key: &str, value: impl fmt::Display) -> Result<Self, Error> {
        Self::new(format!("{key}:{value}"))
    }

    /// The tag's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
