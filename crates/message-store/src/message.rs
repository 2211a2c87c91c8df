use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::text::{check, invalid};
use crate::{Error, Problem, json};

/// A message to write.
///
/// Data and metadata are JSON texts. The builder validates them once; the stores pass them on
/// without parsing them again. Type, data and metadata share one buffer.
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
    /// Type, data and metadata, concatenated.
    buffer: Box<str>,
    data_start: usize,
    metadata_start: Option<usize>,
}

impl Message {
    /// Maximum length of a type in bytes.
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

    /// The id, if the caller gave one. Otherwise the store generates one.
    pub fn id(&self) -> Option<Uuid> {
        self.id
    }

    /// Returns the same message with this id.
    #[must_use]
    pub fn with_id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self
    }

    /// The same message with this metadata, a valid JSON text.
    pub(crate) fn with_metadata(&self, metadata: &str) -> Self {
        let data_end = self.metadata_start.unwrap_or(self.buffer.len());
        Self {
            buffer: [&self.buffer[..data_end], metadata].concat().into(),
            metadata_start: Some(data_end),
            ..*self
        }
    }

    /// The message's type, such as `Deposited`.
    pub fn message_type(&self) -> &str {
        &self.buffer[..self.data_start]
    }

    /// The data, as the JSON text that the builder received.
    pub fn data_json(&self) -> &str {
        &self.buffer[self.data_start..self.metadata_start.unwrap_or(self.buffer.len())]
    }

    /// The metadata, as the JSON text that the builder received, if any.
    pub fn metadata_json(&self) -> Option<&str> {
        self.metadata_start.map(|start| &self.buffer[start..])
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

/// Builds a [`Message`]. [`MessageBuilder::build`] reports the first problem.
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
    /// Sets the id. A repeated write with the same ids and the same content changes nothing.
    pub fn id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the data to the JSON form of `value`. The default is `null`. A string is encoded as a
    /// JSON string; for text that is already JSON, use [`MessageBuilder::data_json`].
    pub fn data<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.data = self.encoded("data", value);
        self
    }

    /// Sets the metadata to the JSON form of `value`.
    pub fn metadata<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.metadata = self.encoded("metadata", value);
        self
    }

    /// Sets the data to a JSON text, which is stored unchanged.
    pub fn data_json(mut self, text: impl Into<String>) -> Self {
        self.data = self.checked("data", text.into());
        self
    }

    /// Sets the metadata to a JSON text, which is stored unchanged. By default, a message has no
    /// metadata.
    pub fn metadata_json(mut self, text: impl Into<String>) -> Self {
        self.metadata = self.checked("metadata", text.into());
        self
    }

    /// Validates the fields and builds the message.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first invalid field: `data` and `metadata` in the order in which
    /// they were set, then `type`.
    pub fn build(self) -> Result<Message, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        check(&self.message_type, Message::MAX_TYPE_BYTES).map_err(invalid("type"))?;
        let data = self.data.as_deref().unwrap_or("null");
        let metadata = self.metadata.as_deref();
        let data_start = self.message_type.len();
        let data_end = data_start + data.len();
        // The exact size, so that `into_boxed_str` below does not reallocate.
        let mut buffer = String::with_capacity(data_end + metadata.map_or(0, str::len));
        buffer.push_str(&self.message_type);
        buffer.push_str(data);
        buffer.push_str(metadata.unwrap_or_default());
        Ok(Message {
            id: self.id,
            buffer: buffer.into_boxed_str(),
            data_start,
            metadata_start: metadata.map(|_| data_end),
        })
    }

    fn encoded<T: Serialize + ?Sized>(&mut self, field: &str, value: &T) -> Option<String> {
        self.text_or_problem(field, json::encode(value).and_then(check_json))
    }

    fn checked(&mut self, field: &str, text: String) -> Option<String> {
        self.text_or_problem(field, check_json(text))
    }

    /// Keeps the first problem for [`MessageBuilder::build`], so that the setters can be chained.
    fn text_or_problem(&mut self, field: &str, text: Result<String, Problem>) -> Option<String> {
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

/// The decoding methods of [`Message`] and [`RecordedMessage`](crate::RecordedMessage).
macro_rules! decoders {
    ($message:ty) => {
        impl $message {
            /// Decodes the data.
            ///
            /// # Errors
            /// [`Error::Json`] if the data does not fit `T`.
            pub fn data<T: DeserializeOwned>(&self) -> Result<T, Error> {
                json::decode(self.data_json())
            }

            /// Decodes the metadata. Missing metadata is decoded as `null`.
            ///
            /// # Errors
            /// [`Error::Json`] if the metadata does not fit `T`.
            pub fn metadata<T: DeserializeOwned>(&self) -> Result<T, Error> {
                json::decode(self.metadata_json().unwrap_or("null"))
            }
        }
    };
}

decoders!(Message);
decoders!(crate::RecordedMessage);
