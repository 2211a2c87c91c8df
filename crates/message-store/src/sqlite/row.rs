use rusqlite::Row;
use rusqlite::types::ValueRef;
use uuid::Uuid;

use super::error::Failure;
use super::payload;
use crate::{
    Bookmark, Checkpoint, Error, Fault, GlobalPosition, Position, Reason, RecordedMessage,
    RecordedParts,
};

/// Decodes rows. Reuses its buffers for unpacked texts from row to row.
#[derive(Default)]
pub(super) struct RowReader {
    data: Vec<u8>,
    metadata: Vec<u8>,
}

impl RowReader {
    /// Decodes a row with the columns of [`super::statements`].
    pub(super) fn message(&mut self, row: &Row<'_>) -> Result<RecordedMessage, Failure> {
        Ok(RecordedMessage::new(RecordedParts {
            id: id(row.get_ref(0)?)?,
            stream_name: text(row.get_ref(1)?)?,
            message_type: text(row.get_ref(2)?)?,
            position: Position::new(number(row.get_ref(3)?)?.unsigned_abs()),
            global_position: GlobalPosition::new(number(row.get_ref(4)?)?.unsigned_abs()),
            data: payload::text(row.get_ref(5)?, &mut self.data)?.unwrap_or("null"),
            metadata: payload::text(row.get_ref(6)?, &mut self.metadata)?,
            time_us: number(row.get_ref(7)?)?,
        }))
    }
}

/// The stream name of a row with the columns of [`super::statements`].
pub(super) fn stream_name<'a>(row: &'a Row<'_>) -> Result<&'a str, Failure> {
    Ok(text(row.get_ref(1)?)?)
}

/// Converts a number for SQLite. Larger numbers are capped; no message has such a position anyway.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The bookmark of a row with the position and the id of a message.
pub(super) fn bookmark(row: &Row<'_>) -> Result<Bookmark, Failure> {
    Ok(Bookmark::new(position(row)?, id(row.get_ref(1)?)?))
}

/// The checkpoint of a row with a position and the text of a bookmark, or NULL.
pub(super) fn checkpoint(row: &Row<'_>) -> Result<Bookmark, Failure> {
    let bookmark = match row.get_ref(1)? {
        ValueRef::Null => None,
        value => Some(text(value)?),
    };
    Ok(Bookmark::saved(position(row)?, bookmark))
}

/// The checkpoint of the consumer in the third column.
pub(super) fn checkpoint_of_consumer(row: &Row<'_>) -> Result<Checkpoint, Failure> {
    Ok(Checkpoint {
        consumer: text(row.get_ref(2)?)?.to_owned(),
        handled: checkpoint(row)?,
    })
}

/// The global position in the first column.
fn position(row: &Row<'_>) -> Result<GlobalPosition, Failure> {
    let number = number(row.get_ref(0)?)?;
    Ok(GlobalPosition::new(number.unsigned_abs()))
}

/// An id.
pub(super) fn id(value: ValueRef<'_>) -> Result<Uuid, Error> {
    value
        .as_blob()
        .ok()
        .and_then(|bytes| Uuid::from_slice(bytes).ok())
        .ok_or_else(|| unreadable("id"))
}

pub(super) fn text(value: ValueRef<'_>) -> Result<&str, Error> {
    value.as_str().map_err(|_| unreadable("name or type"))
}

pub(super) fn number(value: ValueRef<'_>) -> Result<i64, Error> {
    value.as_i64().map_err(|_| unreadable("number"))
}

fn unreadable(what: &str) -> Error {
    Error::Fault(Fault::Refused(Reason::new(format!(
        "a stored {what} can't be read"
    ))))
}
