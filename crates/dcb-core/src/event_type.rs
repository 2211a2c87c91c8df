use crate::Error;
use crate::text::{check, invalid};

/// The type of an event, for example `EnrollmentCompleted`: 1 to 255 characters without NUL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub struct EventType(String);

impl EventType {
    /// The maximum length, in characters.
    pub const MAX_CHARS: usize = 255;

    /// Checks the name and creates the event type.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `type`.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check(&name, Self::MAX_CHARS).map_err(invalid("type"))?;
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

store_fault::text_conversions!(EventType, Error);
