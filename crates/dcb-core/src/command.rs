//! Commands: what was asked for, kept beside what came of it.

mod executor;

use std::fmt;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use executor::CommandExecutor;

use crate::{Error, Event, EventBuilder, Position};

/// What somebody asked for: a type, data and metadata, as an event has them, without tags.
///
/// [`Append::command`](crate::Append::command) keeps it in the log of commands, by the same commit
/// as the events that it led to. A refused append leaves no command.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    content: Event,
}

impl Command {
    /// Builds a command of this type.
    pub fn builder(command_type: impl Into<String>) -> CommandBuilder {
        CommandBuilder {
            content: Event::builder(command_type),
        }
    }

    /// What is asked for.
    pub fn command_type(&self) -> &str {
        self.content.event_type()
    }

    /// The metadata, keys unique, in the order it was given.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.content.metadata()
    }

    /// The metadata value of this key.
    pub fn metadata_value(&self, key: &str) -> Option<&str> {
        self.content.metadata_value(key)
    }

    /// The data, byte for byte as it was given.
    pub fn data(&self) -> &[u8] {
        self.content.data()
    }

    /// The data decoded from JSON.
    ///
    /// # Errors
    /// [`Error::Json`] where it is not JSON of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.content.json()
    }

    /// The size of type, metadata and data in bytes, as [`Event::size_bytes`] counts them.
    pub fn size_bytes(&self) -> usize {
        self.content.size_bytes()
    }

    /// The command as the log keeps it: its first event is at `position`. For stores.
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

    /// A command from the parts that a store keeps.
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

    /// As an event without tags, for what stores write alike.
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

/// Builds a [`Command`]; the first problem is reported by [`CommandBuilder::build`].
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

    /// Sets the data, any bytes.
    pub fn data(self, data: impl Into<Vec<u8>>) -> Self {
        Self {
            content: self.content.data(data),
        }
    }

    /// Sets the data to the JSON form of `value`.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        Self {
            content: self.content.json(value),
        }
    }

    /// The checked command. A type has 1 to 64 characters, as an event's.
    ///
    /// # Errors
    /// [`Error::Invalid`] that names the first field that is not valid: `type`, `metadata`, `data`.
    pub fn build(self) -> Result<Command, Error> {
        let content = self.content.build()?;
        Ok(Command { content })
    }
}

/// A command in the log of commands, with where its events are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCommand {
    position: Position,
    events: u64,
    recorded_at: SystemTime,
    command: Command,
}

impl RecordedCommand {
    /// The position of the first event that it led to. No two commands have the same.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The positions of the events that it led to, in order.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let events = usize::try_from(self.events).unwrap_or(usize::MAX);
        std::iter::successors(Some(self.position), |position| Some(position.next())).take(events)
    }

    /// When it was committed, as its events have it.
    pub fn recorded_at(&self) -> SystemTime {
        self.recorded_at
    }

    /// The command as it was given.
    pub fn command(&self) -> &Command {
        &self.command
    }
}
