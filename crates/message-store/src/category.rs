use crate::Error;
use crate::StreamName;
use crate::text::{check, invalid, malformed, text_conversions};

/// A category of streams, such as `account` or `account:command`, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct Category(Box<str>);

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
        if name.contains('-') {
            return Err(invalid("category")(malformed("a category has no hyphen")));
        }
        Ok(Self(name.into_boxed_str()))
    }

    /// All messages of the store.
    pub fn all() -> Self {
        Self::default()
    }

    /// The category of a stream.
    pub fn of(stream: &StreamName) -> Self {
        Self(stream.category().into())
    }

    /// Whether this stands for all messages.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The name, empty for all messages.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the stream belongs to this category.
    pub fn includes(&self, stream_name: &str) -> bool {
        self.is_all() || crate::stream_name::category_of(stream_name) == self.as_str()
    }
}

text_conversions!(Category);
