//! Decodes rows from PostgreSQL's binary format by hand, so that a message costs one allocation.

use std::time::{Duration, SystemTime};

use sqlx::Row as _;
use sqlx::ValueRef as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::{
    Bookmark, Checkpoint, Error, Fault, GlobalPosition, Position, Reason, RecordedMessage,
    RecordedParts,
};

/// Microseconds from the Unix epoch to PostgreSQL's epoch, 2000-01-01.
pub(super) const POSTGRES_EPOCH_US: i64 = 946_684_800_000_000;

/// The columns that [`message`] decodes. The table's alias must be `m`.
pub(super) const COLUMNS: &str = "m.id, m.stream_name, m.type, m.position, m.global_position, \
                                  m.data::text, m.metadata::text, m.time";

/// Decodes a row of [`COLUMNS`].
pub(super) fn message(row: &PgRow) -> Result<RecordedMessage, Error> {
    let parts = RecordedParts {
        id: Uuid::from_slice(required(row, 0)?).map_err(|_| malformed())?,
        stream_name: text(required(row, 1)?)?,
        message_type: text(required(row, 2)?)?,
        position: Position::new(number(row, 3)?),
        global_position: GlobalPosition::new(number(row, 4)?),
        data: optional(row, 5)?.map(text).transpose()?.unwrap_or("null"),
        metadata: optional(row, 6)?.map(text).transpose()?,
        time_us: time_us(row, 7)?,
    };
    Ok(RecordedMessage::new(parts))
}

/// Whether a row stands for a message that a reader has handled and that is missing.
pub(super) fn is_missing(row: &PgRow) -> Result<bool, Error> {
    is_null(row, 1)
}

/// Checks the place of a reader whose message is missing.
pub(super) fn check_place(row: &PgRow, handled: Bookmark) -> Result<(), Error> {
    let position =
        |column| optional_number(row, column).map(|number| number.map(GlobalPosition::new));
    handled.check(optional_id(row, 0)?, position(4)?, position(3)?)
}

/// A checkpoint, in columns for the position and the text of the bookmark.
pub(super) fn checkpoint(row: &PgRow) -> Result<Bookmark, Error> {
    let position = GlobalPosition::new(number(row, 0)?);
    let bookmark = optional(row, 1)?.map(text).transpose()?;
    Ok(Bookmark::saved(position, bookmark))
}

/// The checkpoint of the consumer in the third column.
pub(super) fn checkpoint_of_consumer(row: &PgRow) -> Result<Checkpoint, Error> {
    Ok(Checkpoint {
        consumer: text(required(row, 2)?)?.to_owned(),
        handled: checkpoint(row)?,
    })
}

/// An id, `None` for NULL.
pub(super) fn optional_id(row: &PgRow, column: usize) -> Result<Option<Uuid>, Error> {
    let id = optional(row, column)?.map(Uuid::from_slice);
    id.transpose().map_err(|_| malformed())
}

/// A number that is never negative.
pub(super) fn number(row: &PgRow, column: usize) -> Result<u64, Error> {
    optional_number(row, column)?.ok_or_else(malformed)
}

/// A number that is never negative, `None` for NULL.
pub(super) fn optional_number(row: &PgRow, column: usize) -> Result<Option<u64>, Error> {
    let number = optional(row, column)?.map(int8).transpose()?;
    number
        .map(u64::try_from)
        .transpose()
        .map_err(|_| malformed())
}

/// A text.
pub(super) fn string(row: &PgRow, column: usize) -> Result<String, Error> {
    Ok(text(required(row, column)?)?.to_owned())
}

/// A timestamp, in microseconds since 1970-01-01.
pub(super) fn time_us(row: &PgRow, column: usize) -> Result<i64, Error> {
    Ok(int8(required(row, column)?)?.saturating_add(POSTGRES_EPOCH_US))
}

/// A timestamp, as a `SystemTime`.
pub(super) fn time(row: &PgRow, column: usize) -> Result<SystemTime, Error> {
    let time_us = time_us(row, column)?;
    let distance = Duration::from_micros(time_us.unsigned_abs());
    Ok(if time_us < 0 {
        SystemTime::UNIX_EPOCH - distance
    } else {
        SystemTime::UNIX_EPOCH + distance
    })
}

/// Whether a column is NULL.
pub(super) fn is_null(row: &PgRow, column: usize) -> Result<bool, Error> {
    Ok(optional(row, column)?.is_none())
}

fn optional(row: &PgRow, column: usize) -> Result<Option<&[u8]>, Error> {
    let value = row.try_get_raw(column).map_err(|_| malformed())?;
    if value.is_null() {
        return Ok(None);
    }
    value.as_bytes().map(Some).map_err(|_| malformed())
}

fn required(row: &PgRow, column: usize) -> Result<&[u8], Error> {
    optional(row, column)?.ok_or_else(malformed)
}

fn int8(bytes: &[u8]) -> Result<i64, Error> {
    let bytes = bytes.try_into().map_err(|_| malformed())?;
    Ok(i64::from_be_bytes(bytes))
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| malformed())
}

fn malformed() -> Error {
    Error::Fault(Fault::Refused(Reason::new(
        "a stored message can't be decoded",
    )))
}
