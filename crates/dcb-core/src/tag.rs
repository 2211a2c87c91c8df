use std::fmt::{self, Display, Write as _};

use crate::text::{check, invalid};
use crate::{Error, Problem};

/// Room for the value of a pair, a UUID for one.
const VALUE_BYTES: usize = 40;

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
    pub fn pair(key: &str, value: impl Display) -> Result<Self, Error> {
        let mut text = String::with_capacity(key.len() + 1 + VALUE_BYTES);
        text.push_str(key);
        text.push(':');
        write_text(&mut text, value)?;
        Self::new(text)
    }

    /// The tag's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Adds what `text` displays as. That fails only where its Display implementation itself does.
pub(crate) fn write_text(to: &mut String, text: impl Display) -> Result<(), Error> {
    write!(to, "{text}").map_err(|_| {
        let reason = "its Display implementation failed".to_owned();
        invalid("tags")(Problem::Malformed { reason })
    })
}
