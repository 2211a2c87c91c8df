use crate::{ExpectedVersion, GlobalPosition, Message, Position, StreamName};

/// Messages for one stream, as a part of a write to several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamWrite {
    /// The stream.
    pub stream: StreamName,
    /// The messages, at least one, in order.
    pub messages: Vec<Message>,
    /// Where the stream must be.
    pub expected_version: ExpectedVersion,
}

impl StreamWrite {
    /// These messages for this stream, wherever it is.
    pub fn new(stream: StreamName, messages: impl Into<Vec<Message>>) -> Self {
        Self {
            stream,
            messages: messages.into(),
            expected_version: ExpectedVersion::Any,
        }
    }

    /// Only if the stream is there.
    #[must_use]
    pub fn expected_version(mut self, expected_version: ExpectedVersion) -> Self {
        self.expected_version = expected_version;
        self
    }
}

/// Where a message was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The place in the stream.
    pub position: Position,
    /// The place in the store.
    pub global_position: GlobalPosition,
}
