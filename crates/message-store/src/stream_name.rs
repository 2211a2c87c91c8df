use std::fmt;
use std::str::FromStr;

use crate::text::{check, invalid, malformed};
use crate::{Category, Error};

/// The name of a stream: `category-id`.
///
/// The category is what stands before the first hyphen, the id what stands after it. An id may be
/// compound, `account-123+456`: its cardinal id is what stands before the first plus, and decides
/// which member of a consumer group reads the stream.
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
pub struct StreamName {
    name: Box<str>,
    /// Where the hyphen is.
    hyphen: usize,
}

impl StreamName {
    /// The most bytes of a name. Two of them fit into one index entry of PostgreSQL.
    pub const MAX_BYTES: usize = 1024;

    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `stream` where it is empty, longer than
    /// [`StreamName::MAX_BYTES`], has a NUL, or lacks the category, the hyphen or the id.
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

    /// The name of the stream with this id in a category.
    ///
    /// # Errors
    /// As [`StreamName::new`].
    pub fn with_id(category: &Category, id: impl fmt::Display) -> Result<Self, Error> {
        Self::new(format!("{}-{id}", category.as_str()))
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// What stands before the first hyphen.
    pub fn category(&self) -> &str {
        &self.name[..self.hyphen]
    }

    /// What stands after the first hyphen.
    pub fn id(&self) -> &str {
        &self.name[self.hyphen + 1..]
    }

    /// The id up to its first plus.
    pub fn cardinal_id(&self) -> &str {
        cardinal_id_of(&self.name)
    }
}

/// The category of any name, also one that [`StreamName`] refuses: a name without a hyphen is its
/// own category.
pub(crate) fn category_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(category, _)| category)
}

/// The cardinal id of any name; a name without a hyphen stands for its id.
pub(crate) fn cardinal_id_of(name: &str) -> &str {
    let id = name.split_once('-').map_or(name, |(_, id)| id);
    id.split_once('+').map_or(id, |(cardinal, _)| cardinal)
}

impl FromStr for StreamName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}

impl AsRef<str> for StreamName {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(formatter)
    }
}

impl fmt::Debug for StreamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name, formatter)
    }
}
