//! Commands, stored with the events that they caused.

mod executor;

use std::fmt;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use executor::CommandExecutor;

use crate::{Error, Event, EventBuilder, Position};

/// A request to the application: like an event, it has a type, data and metadata, but no tags.
///
/// [`Append::command`](crate::Append::command) stores it in the command log, in the same commit as
/// the events that it caused. A refused append stores no command.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    // A command has the same fields, limits and stored form as an event without tags.
    content: Event,
}

impl Command {
    /// Builds a command of this type.
    pub fn builder(command_type: impl Into<String>) -> CommandBuilder {
        CommandBuilder {
            content: Event::builder(command_type),
        }
    }

    /// The type, for example `EnrollStudent`.
    pub fn command_type(&self) -> &str {
        self.content.event_type()
    }

    /// The metadata entries in the caller's order; keys are unique.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.content.metadata()
    }

    /// The metadata value for `key`.
    pub fn metadata_value(&self, key: &str) -> Option<&str> {
        self.content.metadata_value(key)
    }

    /// The data, byte for byte.
    pub fn data(&self) -> &[u8] {
        self.content.data()
    }

    /// Decodes the data from JSON.
    ///
    /// # Errors
    /// [`Error::Json`] if the data is not JSON of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.content.json()
    }

    /// The size of type, metadata and data in bytes, counted like [`Event::size_bytes`].
    pub fn size_bytes(&self) -> usize {
        self.content.size_bytes()
    }

    /// The command as stored in the log; its first event is at `position`. Only implementations of
    /// stores need this.
    pub fn into_recorded(
        self,
        position: Position,
        events: u64,
        recorded_at: SystemTime,
    ) -> RecordedCommand {
        RecordedCommand {
            position,
            events,
            recorded_at,
            command: self,
        }
    }

    /// Rebuilds a command from its stored parts.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn stored<'a>(
        command_type: &'a str,
        metadata: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        data: &'a [u8],
    ) -> Result<Self, Error> {
        let builder = Self::builder(command_type).data(data);
        metadata
            .fold(builder, |builder, (key, value)| {
                builder.metadata(key, value)
            })
            .build()
    }

    /// The command as an event without tags, so that stores can share code for both.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn content(&self) -> &Event {
        &self.content
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Command")
            .field("type", &self.command_type())
            .field("metadata", &self.metadata().collect::<Vec<_>>())
            .field("data", &String::from_utf8_lossy(self.data()))
            .finish()
    }
}

/// Builds a [`Command`]. [`CommandBuilder::build`] reports the first problem.
#[derive(Clone, Debug)]
#[must_use]
pub struct CommandBuilder {
    content: EventBuilder,
}

impl CommandBuilder {
    /// Adds a metadata entry.
    pub fn metadata(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            content: self.content.metadata(key, value),
        }
    }

    /// Sets the metadata entry [`Event::CORRELATION_ID`].
    pub fn correlation_id(self, id: impl Into<String>) -> Self {
        self.metadata(Event::CORRELATION_ID, id)
    }

    /// Sets the data to these bytes.
    pub fn data(self, data: impl Into<Vec<u8>>) -> Self {
        Self {
            content: self.content.data(data),
        }
    }

    /// Sets the data to `value` as JSON.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        Self {
            content: self.content.json(value),
        }
    }

    /// Checks the fields and returns the command. The type must have 1 to 255 characters, like the
    /// type of an event.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first invalid field: `type`, `metadata` or `data`.
    pub fn build(self) -> Result<Command, Error> {
        let content = self.content.build()?;
        Ok(Command { content })
    }
}

/// A stored command and the positions of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCommand {
    position: Position,
    events: u64,
    recorded_at: SystemTime,
    command: Command,
}

impl RecordedCommand {
    /// The position of the first event that the command caused. It is unique among commands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The positions of the events that the command caused, in order.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let events = usize::try_from(self.events).unwrap_or(usize::MAX);
        std::iter::successors(Some(self.position), |position| Some(position.next())).take(events)
    }

    /// The commit time of the command and its events.
    pub fn recorded_at(&self) -> SystemTime {
        self.recorded_at
    }

    /// The command.
    pub fn command(&self) -> &Command {
        &self.command
    }
}
