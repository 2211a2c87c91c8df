use std::fmt::{Display, Write as _};

use crate::text::{check, invalid};
use crate::{Error, Problem};

/// Capacity reserved for the value of a pair: enough for a UUID.
const VALUE_BYTES: usize = 40;

/// A tag names an entity that an event concerns, for example `course_id:c1`: 1 to 1,024 characters
/// without NUL.
///
/// [`Tag::pair`] follows the convention `key:value`, but a tag may be any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Tag(String);

impl Tag {
    /// The maximum length, in characters.
    pub const MAX_CHARS: usize = 1024;

    /// Checks the text and creates the tag.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `tags`.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        check(&text, Self::MAX_CHARS).map_err(invalid("tags"))?;
        Ok(Self(text))
    }

    /// Creates the tag `key:value`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `tags`.
    pub fn pair(key: &str, value: impl Display) -> Result<Self, Error> {
        let mut text = String::with_capacity(key.len() + 1 + VALUE_BYTES);
        text.push_str(key);
        text.push(':');
        write_text(&mut text, value)?;
        Self::new(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

store_fault::text_conversions!(Tag, Error);

/// Appends the `Display` output of `text`. Fails only if the `Display` implementation returns an
/// error.
pub(crate) fn write_text(to: &mut String, text: impl Display) -> Result<(), Error> {
    write!(to, "{text}").map_err(|_| {
        let problem = Problem::malformed("its Display implementation failed");
        invalid("tags")(problem)
    })
}
