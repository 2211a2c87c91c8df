//! Inserts events, commands and tracked positions inside a transaction.

use rusqlite::{CachedStatement, Connection, Result, params};
use uuid::Uuid;

use super::statements::{INSERT_COMMAND, INSERT_EVENT, TRACK};
use super::text_form::{Text, write_metadata, write_tags};
use crate::{Command, Event, Tracking};

/// The insert statement of a batch, and buffers that its events share.
pub(super) struct Inserter<'c> {
    connection: &'c Connection,
    event: CachedStatement<'c>,
    tags: Vec<u8>,
    metadata: Vec<u8>,
}

impl<'c> Inserter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            connection,
            event: connection.prepare_cached(INSERT_EVENT)?,
            tags: Vec::new(),
            metadata: Vec::new(),
        })
    }

    pub(super) fn insert(
        &mut self,
        event: &Event,
        id: Uuid,
        position: i64,
        recorded_at: i64,
    ) -> Result<()> {
        self.tags.clear();
        self.metadata.clear();
        write_tags(event, &mut self.tags);
        let metadata = write_metadata(event, &mut self.metadata).then_some(Text(&self.metadata));
        self.event.execute(params![
            position,
            recorded_at,
            id.as_bytes(),
            event.event_type(),
            Text(&self.tags),
            metadata,
            event.data(),
        ])?;
        Ok(())
    }

    /// Stores a command that caused this many events, the first of them at `position`.
    pub(super) fn insert_command(
        &mut self,
        command: &Command,
        position: i64,
        events: usize,
    ) -> Result<()> {
        self.metadata.clear();
        let content = command.content();
        let metadata = write_metadata(content, &mut self.metadata).then_some(Text(&self.metadata));
        let mut statement = self.connection.prepare_cached(INSERT_COMMAND)?;
        let command_type = command.command_type();
        statement
            .execute(params![
                position,
                events as i64,
                command_type,
                metadata,
                command.data()
            ])
            .map(|_| ())
    }

    pub(super) fn track(&mut self, tracking: &Tracking) -> Result<()> {
        let position = i64::try_from(tracking.position()).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(TRACK)?;
        statement.execute((tracking.source(), position)).map(|_| ())
    }
}
