use std::fmt;

use crate::stream_name::category_of;
use crate::text::{check, invalid};
use crate::{Error, Problem, StreamName};

/// A category of streams, such as `account` or `account:command`, or all of them.
///
/// The streams `account-1`, `account-` and `account` are in the category `account`.
///
/// A stream such as `-1` is in the category with the empty name. Only [`Category::of`] returns that
/// category, because [`Category::new`] takes the empty name for all messages.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Category(Option<Box<str>>);

impl Category {
    /// Validates a name. The empty name stands for all messages.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `category` if the name contains a hyphen or a NUL, or is
    /// longer than [`StreamName::MAX_BYTES`].
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        if name.is_empty() {
            return Ok(Self::all());
        }
        check(&name, StreamName::MAX_BYTES).map_err(invalid("category"))?;
        if category_of(&name) != name {
            return Err(invalid("category")(Problem::malformed(
                "a category has no hyphen",
            )));
        }
        Ok(Self(Some(name.into_boxed_str())))
    }

    /// All messages of the store.
    pub fn all() -> Self {
        Self::default()
    }

    /// The category of a stream.
    pub fn of(stream: &StreamName) -> Self {
        Self(Some(stream.category().into()))
    }

    /// Whether this stands for all messages.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// The name. It is empty for all messages, and for the category of streams such as `-1`.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether the stream belongs to this category.
    pub fn includes(&self, stream_name: &str) -> bool {
        self.is_all() || category_of(stream_name) == self.as_str()
    }
}

store_fault::text_conversions!(Category, Error);

impl fmt::Debug for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(name) => formatter.debug_tuple("Category").field(name).finish(),
            None => formatter.write_str("Category::all()"),
        }
    }
}
