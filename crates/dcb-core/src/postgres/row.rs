//! Decodes rows from PostgreSQL's binary format by hand, with one allocation per event.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::Row as _;
use sqlx::ValueRef as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::event::StoredEvent;
use crate::{
    Bookmark, Command, Error, Extent, Fault, Position, Reason, RecordedCommand, SequencedEvent,
    Tracking,
};

/// Microseconds from the Unix epoch to 2000-01-01, the epoch of PostgreSQL's timestamps.
const POSTGRES_EPOCH_MICROS: u64 = 946_684_800_000_000;

/// The first row of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading {
    /// The last event of the log, `None` if the log is empty.
    pub(super) head: Option<Bookmark>,
    /// The id of the event at the bound where the read starts.
    pub(super) id_at_start: Option<Uuid>,
}

/// The first row of a read, for the read with this index of those that share the statement.
pub(super) fn heading(row: &PgRow, index: usize) -> Result<Heading, Error> {
    let event_id = optional(row, 2)?.map(uuid).transpose()?;
    let ids = optional(row, 6)?.unwrap_or_default();
    let id_at_start = ids.chunks_exact(16).nth(index).map(uuid).transpose()?;
    Ok(Heading {
        head: head(row)?.map(|position| Bookmark { position, event_id }),
        id_at_start,
    })
}

fn uuid(bytes: &[u8]) -> Result<Uuid, Error> {
    Uuid::from_slice(bytes).map_err(|_| malformed("id"))
}

/// The position of the head, from the first column; `None` if the log is empty.
fn head(row: &PgRow) -> Result<Option<Position>, Error> {
    optional(row, 0)?
        .map(int8)
        .transpose()
        .map(|head| head.and_then(Position::new))
}

/// The event in a row.
pub(super) fn event(row: &PgRow) -> Result<SequencedEvent, Error> {
    let position = Position::new(int8(required(row, 0)?)?).ok_or_else(|| malformed("position"))?;
    let metadata = optional(row, 5)?
        .map(metadata)
        .transpose()?
        .unwrap_or_default();
    let stored = StoredEvent {
        position,
        recorded_at: timestamp(required(row, 1)?)?,
        id: uuid(required(row, 2)?)?,
        event_type: text(required(row, 3)?)?,
        tags: Texts::new(required(row, 4)?)?,
        metadata: metadata
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
        data: required(row, 6)?,
    };
    stored.into_event()
}

/// An extent, from the columns: number of events; position and id of the last of them, and of the
/// head.
pub(super) fn extent(row: &PgRow) -> Result<Extent, Error> {
    Ok(Extent {
        count: int8(required(row, 0)?)?,
        last: bookmark(row, 1)?,
        head: bookmark(row, 3)?,
    })
}

/// The position in this column and the id in the next.
pub(super) fn bookmark(row: &PgRow, column: usize) -> Result<Option<Bookmark>, Error> {
    let position = optional(row, column)?.map(int8).transpose()?;
    let event_id = optional(row, column + 1)?.map(uuid).transpose()?;
    let position = position.and_then(Position::new);
    Ok(position.map(|position| Bookmark { position, event_id }))
}

/// The index of the read that an event belongs to, from the column after the event's, which counts
/// from 1. `None` in the row with the head.
pub(super) fn read_index(row: &PgRow) -> Result<Option<usize>, Error> {
    let Some(number) = optional(row, 7)? else {
        return Ok(None);
    };
    let index = usize::try_from(int8(number)?).ok();
    let index = index.and_then(|number| number.checked_sub(1));
    index.map(Some).ok_or_else(|| malformed("row"))
}

/// A command, from the columns: position, number of events, time, type, metadata, data.
pub(super) fn command(row: &PgRow) -> Result<RecordedCommand, Error> {
    let position = Position::new(int8(required(row, 0)?)?).ok_or_else(|| malformed("position"))?;
    let metadata = optional(row, 4)?
        .map(metadata)
        .transpose()?
        .unwrap_or_default();
    let entries = metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let command = Command::stored(text(required(row, 3)?)?, entries, required(row, 5)?)?;
    let (events, recorded_at) = (int8(required(row, 1)?)?, timestamp(required(row, 2)?)?);
    Ok(command.into_recorded(position, events, recorded_at))
}

fn optional(row: &PgRow, column: usize) -> Result<Option<&[u8]>, Error> {
    let value = row.try_get_raw(column).map_err(|_| malformed("row"))?;
    if value.is_null() {
        return Ok(None);
    }
    value.as_bytes().map(Some).map_err(|_| malformed("row"))
}

fn required(row: &PgRow, column: usize) -> Result<&[u8], Error> {
    optional(row, column)?.ok_or_else(|| malformed("row"))
}

fn int8(bytes: &[u8]) -> Result<u64, Error> {
    let bytes = bytes.try_into().map_err(|_| malformed("position"))?;
    u64::try_from(i64::from_be_bytes(bytes)).map_err(|_| malformed("position"))
}

/// Decodes a `timestamptz`: microseconds since 2000, from 1970 on.
fn timestamp(bytes: &[u8]) -> Result<SystemTime, Error> {
    let bytes = bytes.try_into().map_err(|_| malformed("time"))?;
    let micros = i64::from_be_bytes(bytes).checked_add_unsigned(POSTGRES_EPOCH_MICROS);
    let micros = micros.and_then(|micros| u64::try_from(micros).ok());
    let since_epoch = micros.ok_or_else(|| malformed("time"))?;
    Ok(UNIX_EPOCH + Duration::from_micros(since_epoch))
}

/// A time from 1970 on as a `timestamptz`.
pub(super) fn postgres_micros(time: SystemTime) -> i64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX);
    micros.saturating_sub_unsigned(POSTGRES_EPOCH_MICROS)
}

/// Decodes a source and its position.
pub(super) fn tracking(row: &PgRow) -> Result<Tracking, Error> {
    Tracking::new(text(required(row, 0)?)?, int8(required(row, 1)?)?)
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| malformed("text"))
}

/// Decodes a JSON object of strings. Keeps the order, which a map type would lose.
fn metadata(json: &[u8]) -> Result<Vec<(String, String)>, Error> {
    struct Entries;
    impl<'de> serde::de::Visitor<'de> for Entries {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object of strings")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    serde::Deserializer::deserialize_map(&mut deserializer, Entries)
        .map_err(|_| malformed("metadata"))
}

/// The elements of a one-dimensional array of texts, which PostgreSQL sends as:
///
/// ```text
/// dimensions i32 | has NULLs i32 | element type u32 | count i32 | first subscript i32 | elements
/// element: length i32 | bytes
/// ```
///
/// An empty array has zero dimensions and ends after the element type.
#[derive(Clone)]
struct Texts<'a> {
    elements: &'a [u8],
}

impl<'a> Texts<'a> {
    /// Checks every element, so that iterating can't fail.
    fn new(array: &'a [u8]) -> Result<Self, Error> {
        const HEADER: usize = 20;
        const EMPTY_HEADER: usize = 12;
        if array.len() == EMPTY_HEADER {
            return Ok(Self { elements: &[] });
        }
        let mut rest = Self {
            elements: array.get(HEADER..).ok_or_else(|| malformed("tags"))?,
        };
        let texts = rest.clone();
        while !rest.elements.is_empty() {
            rest.split_first().ok_or_else(|| malformed("tags"))?;
        }
        Ok(texts)
    }

    fn split_first(&mut self) -> Option<&'a str> {
        let (length, rest) = self.elements.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        let (text, rest) = rest.split_at_checked(length)?;
        self.elements = rest;
        std::str::from_utf8(text).ok()
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.split_first()
    }
}

fn malformed(what: &str) -> Error {
    Error::Fault(Fault::Refused(Reason::new(format!(
        "a stored {what} is malformed"
    ))))
}
