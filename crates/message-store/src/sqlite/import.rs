//! Imports messages recorded by another store.

use rusqlite::Connection;
use sqlite_store::is_taken;

use super::apply::version;
use super::error::Failure;
use super::insert::InsertRow;
use super::row::{RowReader, stored};
use super::{payload, place, request, statements};
use crate::{Error, Position, RecordedMessage, same_json};

/// Stores the new messages within the caller's transaction and returns their number.
pub(super) fn import(
    connection: &Connection,
    messages: &[RecordedMessage],
) -> Result<u64, Failure> {
    let mut head = place::head(connection)?.map_or(0, |head| head.position.get());
    let mut imported = 0;
    for message in messages {
        let global_position = message.global_position().get();
        if global_position <= head {
            check_stored(connection, message)?;
            continue;
        }
        insert(connection, message)?;
        head = global_position;
        imported += 1;
    }
    Ok(imported)
}

/// Checks that a message at or before the head is stored with the same content.
fn check_stored(connection: &Connection, message: &RecordedMessage) -> Result<(), Failure> {
    let mut select = connection.prepare_cached(statements::BY_GLOBAL_POSITION)?;
    let mut rows = select.query([stored(message.global_position().get())])?;
    let is_stored = match rows.next()? {
        Some(row) => is_same(&RowReader::default().message(row)?, message),
        None => false,
    };
    if is_stored {
        Ok(())
    } else {
        Err(conflict(
            message,
            "the head is at or after this global position",
        ))
    }
}

fn is_same(found: &RecordedMessage, message: &RecordedMessage) -> bool {
    found.id() == message.id()
        && found.stream_name() == message.stream_name()
        && found.position() == message.position()
        && found.message_type() == message.message_type()
        && found.time_us() == message.time_us()
        && same_json(found.data_json(), message.data_json())
        // An empty text stands for missing metadata. It is not JSON, so it equals only itself.
        && same_json(
            found.metadata_json().unwrap_or_default(),
            message.metadata_json().unwrap_or_default(),
        )
}

fn insert(connection: &Connection, message: &RecordedMessage) -> Result<(), Failure> {
    // Reject the greatest rowid: once it is used, SQLite picks free rowids at random.
    let checked = |number| match i64::try_from(number) {
        Ok(number) if number < i64::MAX => Ok(number),
        _ => Err(conflict(message, "no 63-bit position follows its position")),
    };
    let position = checked(message.position().get())?;
    let version = version(connection, message.stream_name())?;
    // A stream that is new to the store may start at any position.
    if version.is_some_and(|version| version.next() != message.position()) {
        let version = Position::number_or_minus_one(version);
        let reason = format!("its stream is at position {version}");
        return Err(conflict(message, reason));
    }
    let data_frame = payload::compress(message.data_json());
    let metadata_frame = message.metadata_json().and_then(payload::compress);
    let correlation = message.metadata_json().and_then(request::correlation);
    let row = InsertRow {
        global_position: Some(checked(message.global_position().get())?),
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

fn conflict(message: &RecordedMessage, reason: impl Into<String>) -> Failure {
    Failure::Failed(Error::ImportConflict {
        global_position: message.global_position(),
        reason: reason.into().into(),
    })
}
