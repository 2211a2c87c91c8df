use std::fmt;
use std::time::SystemTime;

use uuid::Uuid;

use crate::stream_name::category_of;
use crate::time::from_us;
use crate::trace::same_metadata;
use crate::{Bookmark, GlobalPosition, Message, Position, StreamName, same_json};

/// A stored message.
///
/// Stream name, type, data and metadata share one buffer, so reading a message takes one
/// allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordedMessage {
    id: Uuid,
    position: Position,
    global_position: GlobalPosition,
    time_us: i64,
    /// Stream name, type, data and metadata, concatenated.
    buffer: Box<str>,
    type_start: usize,
    data_start: usize,
    metadata_start: Option<usize>,
}

/// The parts of a recorded message, as a store reads them.
#[derive(Clone, Copy, Debug)]
pub struct RecordedParts<'a> {
    /// The id.
    pub id: Uuid,
    /// The name of the stream.
    pub stream_name: &'a str,
    /// The message's type.
    pub message_type: &'a str,
    /// The position in the stream.
    pub position: Position,
    /// The position in the store.
    pub global_position: GlobalPosition,
    /// The data, a JSON text.
    pub data: &'a str,
    /// The metadata, a JSON text, if any.
    pub metadata: Option<&'a str>,
    /// When the message was written, in microseconds since 1970-01-01 UTC.
    pub time_us: i64,
}

impl RecordedMessage {
    /// Builds a message from its parts. For use by store implementations.
    pub fn new(parts: RecordedParts<'_>) -> Self {
        let type_start = parts.stream_name.len();
        let data_start = type_start + parts.message_type.len();
        let data_end = data_start + parts.data.len();
        let metadata = parts.metadata.unwrap_or_default();
        // The exact size, so that `into_boxed_str` below does not reallocate.
        let mut buffer = String::with_capacity(data_end + metadata.len());
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
            type_start,
            data_start,
            metadata_start: parts.metadata.map(|_| data_end),
        }
    }

    /// The id, unique in the store.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The name of the stream.
    pub fn stream_name(&self) -> &str {
        &self.buffer[..self.type_start]
    }

    /// The stream, to read, continue or truncate it. SQL clients can write to streams with an empty
    /// name or one of more than [`StreamName::MAX_BYTES`], which [`StreamName::new`] refuses.
    pub fn stream(&self) -> StreamName {
        StreamName::stored(self.stream_name())
    }

    /// The category of the stream.
    pub fn category(&self) -> &str {
        category_of(self.stream_name())
    }

    /// The message's type.
    pub fn message_type(&self) -> &str {
        &self.buffer[self.type_start..self.data_start]
    }

    /// The position in the stream.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The position in the store.
    pub fn global_position(&self) -> GlobalPosition {
        self.global_position
    }

    /// The position in the store with the id, for a reader that goes on after this message.
    pub fn bookmark(&self) -> Bookmark {
        Bookmark::new(self.global_position, self.id)
    }

    /// The data as a JSON text; `null` if a SQL client wrote the message without data.
    pub fn data_json(&self) -> &str {
        &self.buffer[self.data_start..self.metadata_start.unwrap_or(self.buffer.len())]
    }

    /// The metadata as a JSON text, if any.
    pub fn metadata_json(&self) -> Option<&str> {
        self.metadata_start.map(|start| &self.buffer[start..])
    }

    /// When the message was written, by the store's clock, in whole microseconds. A later message
    /// can have an earlier time, because clocks can be set back.
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

    /// Whether `message`, written to the stream `stream_name`, has the content of this message: the
    /// same stream, the same type, and data and metadata that [`same_json`] finds equal. The entry
    /// `traceparent` of the metadata may be another one, because a repeated write is often of another trace.
    pub fn has_content_of(&self, stream_name: &str, message: &Message) -> bool {
        self.stream_name() == stream_name
            && self.message_type() == message.message_type()
            && same_json(self.data_json(), message.data_json())
            && same_metadata(self.metadata_json(), message.metadata_json())
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
