use std::fmt;

use crate::text::{check, invalid};
use crate::{Category, Error, Problem};

/// The name of a stream: `category-id`, or a category alone.
///
/// The first hyphen separates the category from the id. A name without a hyphen is a category
/// without an id. An id may be compound, as in `account-123+456`. The part before the first plus is
/// the cardinal id; it decides which member of a consumer group reads the stream.
///
/// ```
/// # fn main() -> Result<(), message_store::Error> {
/// use message_store::StreamName;
///
/// let name = StreamName::new("account:command-123+456-7")?;
/// assert_eq!(name.category(), "account:command");
/// assert_eq!(name.id(), Some("123+456-7"));
/// assert_eq!(name.cardinal_id(), Some("123"));
///
/// let settings = StreamName::new("settings")?;
/// assert_eq!((settings.category(), settings.id()), ("settings", None));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct StreamName(Box<str>);

impl StreamName {
    /// Maximum length of a name in bytes. A PostgreSQL index entry has room for two names of this
    /// length.
    pub const MAX_BYTES: usize = 1024;

    /// Validates a name.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `stream` if the name is empty, is longer than
    /// [`StreamName::MAX_BYTES`] or contains a NUL.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check(&name, Self::MAX_BYTES).map_err(invalid("stream"))?;
        Ok(Self(name.into_boxed_str()))
    }

    /// Joins a category and an id.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `stream`, as for [`StreamName::new`], or if the category is
    /// [`Category::all`].
    pub fn with_id(category: &Category, id: impl fmt::Display) -> Result<Self, Error> {
        if category.is_all() {
            return Err(invalid("stream")(Problem::malformed(
                "no stream has all categories",
            )));
        }
        Self::new(format!("{}-{id}", category.as_str()))
    }

    /// The name of a stored stream. SQL clients and imports can use names that
    /// [`StreamName::new`] refuses.
    pub(crate) fn stored(name: &str) -> Self {
        Self(name.into())
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the first hyphen, or the whole name if it has none.
    pub fn category(&self) -> &str {
        category_of(&self.0)
    }

    /// The part after the first hyphen, `None` if the name has none.
    pub fn id(&self) -> Option<&str> {
        split(&self.0).1
    }

    /// The id up to its first plus, `None` if the name has no hyphen.
    pub fn cardinal_id(&self) -> Option<&str> {
        self.id().map(cardinal)
    }
}

/// The category and the id of a name. All other functions on names use this one, and it gives the
/// same parts as the SQL functions `category` and `id`.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('-') {
        Some((category, id)) => (category, Some(id)),
        None => (name, None),
    }
}

fn cardinal(id: &str) -> &str {
    id.split_once('+').map_or(id, |(cardinal, _)| cardinal)
}

/// The category of a name.
pub(crate) fn category_of(name: &str) -> &str {
    split(name).0
}

/// The text whose hash assigns a stream to a member of a consumer group: its cardinal id, or its
/// whole name if it has no id.
pub(crate) fn group_key(name: &str) -> &str {
    split(name).1.map_or(name, cardinal)
}

store_fault::text_conversions!(StreamName, Error);

impl fmt::Debug for StreamName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}
