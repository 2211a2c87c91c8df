//! Decodes rows into events and commands, borrowing from the row until the final allocation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::types::{FromSqlError, Type, ValueRef};
use rusqlite::{Error, Result, Row};
use uuid::Uuid;

use super::keys::keys;
use super::text_form::{Tags, read_metadata};
use crate::event::StoredEvent;
use crate::{Command, Position, Query, RecordedCommand, SequencedEvent};

const POSITION: usize = 0;
const RECORDED_AT: usize = 1;
const ID: usize = 2;
const TYPE: usize = 3;
const TAGS: usize = 4;
const METADATA: usize = 5;
const DATA: usize = 6;

/// The stored form of a time: microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

/// The position in a row of event columns.
pub(super) fn position(row: &Row<'_>) -> Result<i64> {
    integer(row, POSITION)
}

/// The event in a row of event columns.
pub(super) fn event(row: &Row<'_>) -> Result<SequencedEvent> {
    let tags = tags(row, TAGS)?;
    let metadata = match row.get_ref(METADATA)? {
        ValueRef::Null => Vec::new(),
        value => read_metadata(text(value, METADATA)?).ok_or_else(|| malformed(METADATA))?,
    };
    let micros = u64::try_from(integer(row, RECORDED_AT)?).unwrap_or_default();
    // A negative position becomes 0, which `Position::new` rejects.
    let number = u64::try_from(position(row)?).unwrap_or_default();
    let stored = StoredEvent {
        position: Position::new(number).ok_or_else(|| malformed(POSITION))?,
        recorded_at: UNIX_EPOCH + Duration::from_micros(micros),
        id: Uuid::from_slice(blob(row, ID)?).map_err(|_| malformed(ID))?,
        event_type: text(row.get_ref(TYPE)?, TYPE)?,
        tags: tags.iter(),
        metadata: metadata
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
        data: blob(row, DATA)?,
    };
    stored
        .into_event()
        .map_err(|error| Error::FromSqlConversionFailure(DATA, Type::Blob, Box::new(error)))
}

/// The command in a row with the columns position, number of events, time, type, metadata and data.
pub(super) fn command(row: &Row<'_>) -> Result<RecordedCommand> {
    const EVENTS: usize = 1;
    const RECORDED_AT: usize = 2;
    const METADATA: usize = 4;
    const DATA: usize = 5;
    let metadata = match row.get_ref(METADATA)? {
        ValueRef::Null => Vec::new(),
        value => read_metadata(text(value, METADATA)?).ok_or_else(|| malformed(METADATA))?,
    };
    let entries = metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let command = Command::stored(text(row.get_ref(TYPE)?, TYPE)?, entries, blob(row, DATA)?)
        .map_err(|error| Error::FromSqlConversionFailure(DATA, Type::Blob, Box::new(error)))?;
    let number = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let position = Position::new(number(POSITION)?).ok_or_else(|| malformed(POSITION))?;
    let recorded_at = UNIX_EPOCH + Duration::from_micros(number(RECORDED_AT)?);
    Ok(command.into_recorded(position, number(EVENTS)?, recorded_at))
}

/// Calls `take` with each index key of the event whose type and tags are in these columns.
pub(super) fn for_each_key(
    row: &Row<'_>,
    type_column: usize,
    tags_column: usize,
    take: impl FnMut(i64),
) -> Result<()> {
    let event_type = text(row.get_ref(type_column)?, type_column)?;
    keys(event_type, tags(row, tags_column)?.iter()).for_each(take);
    Ok(())
}

/// Whether the query matches the event in a row of event columns.
pub(super) fn is_event_match(query: &Query, row: &Row<'_>) -> Result<bool> {
    is_match(query, row, TYPE, TAGS)
}

/// Whether the query, which is not [`Query::all`], matches the event whose type and tags are in these
/// columns.
pub(super) fn is_match(
    query: &Query,
    row: &Row<'_>,
    type_column: usize,
    tags_column: usize,
) -> Result<bool> {
    let event_type = text(row.get_ref(type_column)?, type_column)?;
    let tags = tags(row, tags_column)?;
    let has_tag = |wanted: &str| tags.iter().any(|tag| tag == wanted);
    Ok(query
        .items()
        .iter()
        .any(|item| item.matches(|wanted| wanted == event_type, has_tag)))
}

fn tags<'r>(row: &'r Row<'_>, column: usize) -> Result<Tags<'r>> {
    Tags::parse(text(row.get_ref(column)?, column)?).ok_or_else(|| malformed(column))
}

fn integer(row: &Row<'_>, column: usize) -> Result<i64> {
    row.get_ref(column)?.as_i64().map_err(|_| malformed(column))
}

fn text(value: ValueRef<'_>, column: usize) -> Result<&str> {
    value.as_str().map_err(|_| malformed(column))
}

fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    row.get_ref(column)?
        .as_blob()
        .map_err(|_| malformed(column))
}

fn malformed(column: usize) -> Error {
    // `error::message` only uses the column; the other arguments are placeholders.
    Error::FromSqlConversionFailure(column, Type::Null, Box::new(FromSqlError::InvalidType))
}
