use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::text::{check, invalid};
use crate::{Error, Problem, json};

/// A message that is to be written.
///
/// Type, data and metadata are kept in one buffer. Data and metadata are JSON texts: checked here,
/// never parsed again on their way.
///
/// ```
/// # fn main() -> Result<(), message_store::Error> {
/// use message_store::Message;
/// use serde_json::json;
///
/// let message = Message::builder("Deposited")
///     .data(&json!({"amount": 11}))
///     .metadata(&json!({"correlationStreamName": "transfer-7"}))
///     .build()?;
/// assert_eq!(message.data_json(), r#"{"amount":11}"#);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    id: Option<Uuid>,
    /// `type data metadata`, one after the other.
    buffer: Box<str>,
    data_at: usize,
    metadata_at: Option<usize>,
}

impl Message {
    /// The most bytes of a type.
    pub const MAX_TYPE_BYTES: usize = 1024;

    /// Builds a message of this type.
    pub fn builder(message_type: impl Into<String>) -> MessageBuilder {
        MessageBuilder {
            id: None,
            message_type: message_type.into(),
            data: None,
            metadata: None,
            problem: None,
        }
    }

    /// The id, where one was given; a store makes one where there is none.
    pub fn id(&self) -> Option<Uuid> {
        self.id
    }

    /// The same message with this id.
    #[must_use]
    pub fn with_id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self
    }

    /// What kind of message it is.
    pub fn message_type(&self) -> &str {
        &self.buffer[..self.data_at]
    }

    /// The data as the JSON text that was given.
    pub fn data_json(&self) -> &str {
        &self.buffer[self.data_at..self.metadata_at.unwrap_or(self.buffer.len())]
    }

    /// The metadata as the JSON text that was given, where there is some.
    pub fn metadata_json(&self) -> Option<&str> {
        self.metadata_at.map(|at| &self.buffer[at..])
    }

    /// The size of type, data and metadata in bytes.
    pub fn size_bytes(&self) -> usize {
        self.buffer.len()
    }
}

impl From<Message> for Vec<Message> {
    fn from(message: Message) -> Self {
        vec![message]
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Message")
            .field("id", &self.id)
            .field("type", &self.message_type())
            .field("data", &self.data_json())
            .field("metadata", &self.metadata_json())
            .finish()
    }
}

/// Builds a [`Message`]; the first problem is reported by [`MessageBuilder::build`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MessageBuilder {
    id: Option<Uuid>,
    message_type: String,
    data: Option<String>,
    metadata: Option<String>,
    problem: Option<Error>,
}

impl MessageBuilder {
    /// Sets the id. Writing the same ids with the same content again changes nothing.
    pub fn id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the data to the JSON form of `value`. Without data it is `null`. A text becomes a JSON
    /// string: what is JSON already is for [`MessageBuilder::data_json`].
    pub fn data<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.data = self.encoded("data", value);
        self
    }

    /// Sets the metadata to the JSON form of `value`.
    pub fn metadata<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.metadata = self.encoded("metadata", value);
        self
    }

    /// Sets the data to a JSON text, which is stored as it is.
    pub fn data_json(mut self, text: impl Into<String>) -> Self {
        self.data = self.checked("data", text.into());
        self
    }

    /// Sets the metadata to a JSON text, which is stored as it is; none where there is none.
    pub fn metadata_json(mut self, text: impl Into<String>) -> Self {
        self.metadata = self.checked("metadata", text.into());
        self
    }

    /// The checked message.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first field that is not valid: `data` or `metadata` in
    /// the order in which they were set, then `type`.
    pub fn build(self) -> Result<Message, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        check(&self.message_type, Message::MAX_TYPE_BYTES).map_err(invalid("type"))?;
        let data = self.data.as_deref().unwrap_or("null");
        let metadata = self.metadata.as_deref();
        let data_at = self.message_type.len();
        let end_of_data = data_at + data.len();
        let mut buffer = String::with_capacity(end_of_data + metadata.map_or(0, str::len));
        buffer.push_str(&self.message_type);
        buffer.push_str(data);
        buffer.push_str(metadata.unwrap_or_default());
        Ok(Message {
            id: self.id,
            buffer: buffer.into_boxed_str(),
            data_at,
            metadata_at: metadata.map(|_| end_of_data),
        })
    }

    fn encoded<T: Serialize + ?Sized>(&mut self, field: &str, value: &T) -> Option<String> {
        self.keep(field, json::encode(value).and_then(check_json))
    }

    fn checked(&mut self, field: &str, text: String) -> Option<String> {
        self.keep(field, check_json(text))
    }

    fn keep(&mut self, field: &str, text: Result<String, Problem>) -> Option<String> {
        match text {
            Ok(text) => Some(text),
            Err(problem) => {
                self.problem.get_or_insert(invalid(field)(problem));
                None
            }
        }
    }
}

fn check_json(text: String) -> Result<String, Problem> {
    json::check(&text)?;
    Ok(text)
}

/// What a message and a recorded message both decode.
macro_rules! decoders {
    ($message:ty) => {
        impl $message {
            /// The data, decoded.
            ///
            /// # Errors
            /// [`Error::Json`] where it is not JSON of this shape.
            pub fn data<T: DeserializeOwned>(&self) -> Result<T, Error> {
                json::decode(self.data_json())
            }

            /// The metadata, decoded; `null` where there is none.
            ///
            /// # Errors
            /// [`Error::Json`] where it is not JSON of this shape.
            pub fn metadata<T: DeserializeOwned>(&self) -> Result<T, Error> {
                json::decode(self.metadata_json().unwrap_or("null"))
            }
        }
    };
}

decoders!(Message);
decoders!(crate::RecordedMessage);
