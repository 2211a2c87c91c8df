use std::fmt;

use crate::text::{check, invalid, malformed, text_conversions};
use crate::{Category, Error};

/// The name of a stream: `category-id`.
///
/// The first hyphen separates the category from the id. An id may be compound, as in
/// `account-123+456`. The part before the first plus is the cardinal id; it decides which member of
/// a consumer group reads the stream.
///
/// ```
/// # fn main() -> Result<(), message_store::Error> {
/// let name = message_store::StreamName::new("account:command-123+456-7")?;
/// assert_eq!(name.category(), "account:command");
/// assert_eq!(name.id(), "123+456-7");
/// assert_eq!(name.cardinal_id(), "123");
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct StreamName {
    name: Box<str>,
    /// Index of the first hyphen.
    hyphen: usize,
}

impl StreamName {
    /// Maximum length of a name in bytes. A PostgreSQL index entry has room for two names of this
    /// length.
    pub const MAX_BYTES: usize = 1024;

    /// Validates a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `stream` if the name is empty, is longer than
    /// [`StreamName::MAX_BYTES`], contains a NUL, or lacks the category, the hyphen or the id.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check(&name, Self::MAX_BYTES).map_err(invalid("stream"))?;
        match name.find('-') {
            Some(hyphen) if hyphen > 0 && hyphen + 1 < name.len() => Ok(Self {
                name: name.into_boxed_str(),
                hyphen,
            }),
            _ => Err(invalid("stream")(malformed(
                "a stream name is a category, a hyphen and an id",
            ))),
        }
    }

    /// Joins a category and an id.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `stream`, as for [`StreamName::new`], or if the category is
    /// [`Category::all`].
    pub fn with_id(category: &Category, id: impl fmt::Display) -> Result<Self, Error> {
        Self::new(format!("{}-{id}", category.as_str()))
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The part before the first hyphen.
    pub fn category(&self) -> &str {
        &self.name[..self.hyphen]
    }

    /// The part after the first hyphen.
    pub fn id(&self) -> &str {
        &self.name[self.hyphen + 1..]
    }

    /// The id up to its first plus.
    pub fn cardinal_id(&self) -> &str {
        cardinal_id_of(&self.name)
    }
}

/// The category of any stored name, even if [`StreamName`] rejects the name. A name without a
/// hyphen is its own category.
pub(crate) fn category_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(category, _)| category)
}

/// The cardinal id of any stored name. A name without a hyphen is its own id.
pub(crate) fn cardinal_id_of(name: &str) -> &str {
    let id = name.split_once('-').map_or(name, |(_, id)| id);
    id.split_once('+').map_or(id, |(cardinal, _)| cardinal)
}

text_conversions!(StreamName);

impl fmt::Debug for StreamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name, formatter)
    }
}
