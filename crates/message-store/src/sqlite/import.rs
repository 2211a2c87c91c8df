//! Messages that were recorded elsewhere.

use rusqlite::Connection;

use super::apply::version;
use super::error::is_taken;
use super::insert::InsertRow;
use super::row::{RowReader, stored};
use super::{payload, read, request, statements};
use crate::{Error, Position, RecordedMessage, same_json};

/// Stores what is not stored yet, in the transaction at hand; returns how many.
pub(super) fn import(connection: &Connection, messages: &[RecordedMessage]) -> Result<u64, Error> {
    let mut head = read::head(connection)?.map_or(0, |head| head.get());
    let mut imported = 0;
    for message in messages {
        let global_position = message.global_position().get();
        if global_position <= head {
            skip(connection, message)?;
            continue;
        }
        insert(connection, message)?;
        head = global_position;
        imported += 1;
    }
    Ok(imported)
}

/// Passes a message that is stored already.
fn skip(connection: &Connection, message: &RecordedMessage) -> Result<(), Error> {
    let mut select = connection.prepare_cached(statements::AT)?;
    let mut rows = select.query([stored(message.global_position().get())])?;
    let is_stored = match rows.next()? {
        Some(row) => is_same(&RowReader::default().message(row)?, message),
        None => false,
    };
    if is_stored {
        Ok(())
    } else {
        Err(conflict(message, "the store is past this global position"))
    }
}

fn is_same(found: &RecordedMessage, message: &RecordedMessage) -> bool {
    found.id() == message.id()
        && found.stream_name() == message.stream_name()
        && found.position() == message.position()
        && found.message_type() == message.message_type()
        && found.time_us() == message.time_us()
        && same_json(found.data_json(), message.data_json())
        && same_json(
            found.metadata_json().unwrap_or_default(),
            message.metadata_json().unwrap_or_default(),
        )
}

fn insert(connection: &Connection, message: &RecordedMessage) -> Result<(), Error> {
    // Behind the last rowid of all, SQLite takes any that is free.
    let number = |number| match i64::try_from(number) {
        Ok(number) if number < i64::MAX => Ok(number),
        _ => Err(conflict(message, "no position of 63 bits follows its own")),
    };
    let position = number(message.position().get())?;
    let version = version(connection, message.stream_name())?;
    if version.is_some_and(|version| version.next() != message.position()) {
        let version = Position::number_or_minus_one(version);
        let reason = format!("its stream is at position {version}");
        return Err(conflict(message, reason));
    }
    let data_frame = payload::compress(message.data_json());
    let metadata_frame = message.metadata_json().and_then(payload::compress);
    let correlation = message.metadata_json().and_then(request::correlation);
    let row = InsertRow {
        global_position: Some(number(message.global_position().get())?),
        position,
        time_us: message.time_us(),
        stream_name: message.stream_name(),
        category: message.category(),
        message_type: message.message_type(),
        data: payload::bound(message.data_json(), data_frame.as_deref()),
        metadata: message
            .metadata_json()
            .map(|text| payload::bound(text, metadata_frame.as_deref())),
        id: message.id(),
        correlation: correlation.as_deref(),
    };
    match row.insert(connection) {
        Err(error) if is_taken(&error) => Err(conflict(message, "its id is taken")),
        inserted => Ok(inserted.map(drop)?),
    }
}

fn conflict(message: &RecordedMessage, reason: impl Into<String>) -> Error {
    Error::ImportConflict {
        global_position: message.global_position(),
        reason: reason.into().into(),
    }
}
