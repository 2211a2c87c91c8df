use crate::{ExpectedVersion, GlobalPosition, Message, Position, StreamName};

/// The messages for one stream in a write to several streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamWrite {
    /// The stream.
    pub stream: StreamName,
    /// The messages, at least one, in order.
    pub messages: Vec<Message>,
    /// The version that the stream must have.
    pub expected_version: ExpectedVersion,
}

impl StreamWrite {
    /// A write of `messages` to `stream` that accepts any version.
    pub fn new(stream: StreamName, messages: impl Into<Vec<Message>>) -> Self {
        Self {
            stream,
            messages: messages.into(),
            expected_version: ExpectedVersion::Any,
        }
    }

    /// Requires the stream to have this version.
    #[must_use]
    pub fn expected_version(mut self, expected_version: ExpectedVersion) -> Self {
        self.expected_version = expected_version;
        self
    }
}

/// The positions of a written message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The position in the stream.
    pub position: Position,
    /// The position in the store.
    pub global_position: GlobalPosition,
}
