use std::fmt;
use std::time::SystemTime;

use uuid::Uuid;

use crate::stream_name::category_of;
use crate::time::from_us;
use crate::{GlobalPosition, Message, Position, same_json};

/// A message of the store.
///
/// Stream name, type, data and metadata are kept in one buffer: a message read costs one
/// allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedMessage {
    id: Uuid,
    position: Position,
    global_position: GlobalPosition,
    time_us: i64,
    /// `stream name, type, data, metadata`, one after the other.
    buffer: Box<str>,
    type_at: usize,
    data_at: usize,
    metadata_at: Option<usize>,
}

/// The parts of a recorded message, as a store reads them.
#[derive(Clone, Copy, Debug)]
pub struct RecordedParts<'a> {
    /// The id.
    pub id: Uuid,
    /// The name of the stream.
    pub stream_name: &'a str,
    /// What kind of message it is.
    pub message_type: &'a str,
    /// The place in the stream.
    pub position: Position,
    /// The place in the store.
    pub global_position: GlobalPosition,
    /// The data, a JSON text.
    pub data: &'a str,
    /// The metadata, a JSON text, where there is some.
    pub metadata: Option<&'a str>,
    /// When it was written, in microseconds since 1970-01-01 UTC.
    pub time_us: i64,
}

impl RecordedMessage {
    /// The message of these parts. For stores.
    pub fn new(parts: RecordedParts<'_>) -> Self {
        let type_at = parts.stream_name.len();
        let data_at = type_at + parts.message_type.len();
        let end_of_data = data_at + parts.data.len();
        let metadata = parts.metadata.unwrap_or_default();
        let mut buffer = String::with_capacity(end_of_data + metadata.len());
        buffer.push_str(parts.stream_name);
        buffer.push_str(parts.message_type);
        buffer.push_str(parts.data);
        buffer.push_str(metadata);
        Self {
            id: parts.id,
            position: parts.position,
            global_position: parts.global_position,
            time_us: parts.time_us,
            buffer: buffer.into_boxed_str(),
            type_at,
            data_at,
            metadata_at: parts.metadata.map(|_| end_of_data),
        }
    }

    /// The id, unique in the store.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The name of the stream. A plain text: those who write by SQL name streams as they like.
    pub fn stream_name(&self) -> &str {
        &self.buffer[..self.type_at]
    }

    /// The category of the stream.
    pub fn category(&self) -> &str {
        category_of(self.stream_name())
    }

    /// What kind of message it is.
    pub fn message_type(&self) -> &str {
        &self.buffer[self.type_at..self.data_at]
    }

    /// The place in the stream.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The place in the store.
    pub fn global_position(&self) -> GlobalPosition {
        self.global_position
    }

    /// The data as a JSON text; `null` where one who writes by SQL gave none.
    pub fn data_json(&self) -> &str {
        &self.buffer[self.data_at..self.metadata_at.unwrap_or(self.buffer.len())]
    }

    /// The metadata as a JSON text, where there is some.
    pub fn metadata_json(&self) -> Option<&str> {
        self.metadata_at.map(|at| &self.buffer[at..])
    }

    /// When it was written, by the store's clock, in whole microseconds. It need not increase with
    /// the position.
    pub fn time(&self) -> SystemTime {
        from_us(self.time_us)
    }

    /// [`RecordedMessage::time`] in microseconds since 1970-01-01 UTC.
    pub fn time_us(&self) -> i64 {
        self.time_us
    }

    /// The size of stream name, type, data and metadata in bytes.
    pub fn size_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether `message`, written to the stream of this name, would be this message: same stream,
    /// same type, same JSON values as [`same_json`] compares them.
    pub fn has_content_of(&self, stream_name: &str, message: &Message) -> bool {
        self.stream_name() == stream_name
            && self.message_type() == message.message_type()
            && same_json(self.data_json(), message.data_json())
            && match (self.metadata_json(), message.metadata_json()) {
                (Some(own), Some(other)) => same_json(own, other),
                (own, other) => own == other,
            }
    }
}

impl fmt::Debug for RecordedMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RecordedMessage")
            .field("stream_name", &self.stream_name())
            .field("position", &self.position.get())
            .field("global_position", &self.global_position.get())
            .field("id", &self.id)
            .field("type", &self.message_type())
            .field("data", &self.data_json())
            .field("metadata", &self.metadata_json())
            .finish()
    }
}
