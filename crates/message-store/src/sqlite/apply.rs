//! Applies one request within a transaction.
//!
//! Invariants:
//! - Every write reads the stream's version and the stored ids under the file's write lock, so two
//!   processes can't both pass the same check (test: `tests/it/sqlite/two_processes.rs`).
//! - Ids are not looked up before the insert. If an id is stored, the unique index rejects the row,
//!   and the rows that the request has inserted are deleted again. Ids are also looked up before a
//!   wrong version is reported, because a repeated write must get its first positions even if the
//!   version has changed (tests: the conformance suite's idempotency cases in
//!   `tests/it/sqlite/memory.rs` and `tests/it/sqlite/file.rs`).

use rusqlite::{Connection, OptionalExtension};
use sqlite_store::is_taken;

use super::counters::Tally;
use super::insert::InsertRow;
use super::one_or_many::OneOrMany;
use super::request::{MessageRequest, Request, StreamRequest, Verdict};
use super::row::{RowReader, stored};
use super::{payload, statements};
use crate::{Error, GlobalPosition, Position, RecordedMessage, Written};

/// Why an insert stopped. The final verdict also depends on the stored ids.
enum InsertFailure {
    Version(Error),
    IdTaken,
}

/// Writes a request completely, or leaves the transaction unchanged. After an outer error, the
/// caller must roll back the whole transaction.
pub(super) fn apply(
    connection: &Connection,
    request: &Request,
    time_us: i64,
    tally: &mut Tally,
) -> Result<Verdict, rusqlite::Error> {
    let mut first_row = None;
    let failure = match insert(connection, request, time_us, &mut first_row)? {
        Ok(written) => {
            tally.writes += 1;
            tally.messages += written.as_slice().len() as u64;
            return Ok(Ok(written));
        }
        Err(failure) => failure,
    };
    // Undo this request only: earlier requests of the batch stay in the transaction. Rowids
    // increase within a transaction, so this request inserted all rows from `first_row` on.
    if let Some(first_row) = first_row {
        connection
            .prepare_cached(statements::UNDO_INSERTS)?
            .execute([first_row])?;
    }
    let verdict = match (find_stored(connection, request)?, failure) {
        (Some(verdict), _) => verdict,
        (None, InsertFailure::Version(error)) => {
            tally.conflicts += 1;
            Err(error)
        }
        // No id is stored, so an id occurs twice within the request. `Limits` has already rejected
        // such requests, so this does not happen.
        (None, InsertFailure::IdTaken) => Err(Error::DuplicateId {
            id: request.ids().as_slice()[0],
        }),
    };
    Ok(verdict)
}

/// Inserts the messages without looking up their ids. Sets `first_row` to the first inserted row.
fn insert(
    connection: &Connection,
    request: &Request,
    time_us: i64,
    first_row: &mut Option<i64>,
) -> rusqlite::Result<Result<OneOrMany<Written>, InsertFailure>> {
    // Empty at first, so that `push` keeps a single entry without an allocation.
    let mut written = OneOrMany::Many(Vec::new());
    for stream in request.streams.as_slice() {
        let version = version(connection, stream.name.as_str())?;
        if !stream.expected_version.allows(version) {
            return Ok(Err(InsertFailure::Version(wrong_version(stream, version))));
        }
        let mut position = version.map_or(Position::START, Position::next);
        for message in stream.messages.as_slice() {
            let row = match insert_row(connection, stream, message, position, time_us) {
                Err(error) if is_taken(&error) => return Ok(Err(InsertFailure::IdTaken)),
                row => row?,
            };
            first_row.get_or_insert(row);
            written.push(Written {
                position,
                global_position: GlobalPosition::new(row.unsigned_abs()),
            });
            position = position.next();
        }
    }
    Ok(Ok(written))
}

fn wrong_version(stream: &StreamRequest, actual: Option<Position>) -> Error {
    Error::WrongExpectedVersion {
        stream: stream.name.to_string(),
        expected: stream.expected_version,
        actual,
    }
}

fn insert_row(
    connection: &Connection,
    stream: &StreamRequest,
    request: &MessageRequest,
    position: Position,
    time_us: i64,
) -> rusqlite::Result<i64> {
    let message = &request.message;
    let row = InsertRow {
        global_position: None,
        position: stored(position.get()),
        time_us,
        stream_name: stream.name.as_str(),
        category: stream.name.category(),
        message_type: message.message_type(),
        data: payload::bound(message.data_json(), request.data_frame.as_deref()),
        metadata: message
            .metadata_json()
            .map(|text| payload::bound(text, request.metadata_frame.as_deref())),
        id: request.id,
        correlation: request.correlation.as_deref(),
    };
    row.insert(connection)
}

/// The position of a stream's last message.
pub(super) fn version(connection: &Connection, stream: &str) -> rusqlite::Result<Option<Position>> {
    connection
        .prepare_cached(statements::VERSION)?
        .query_row([stream], |row| row.get::<_, i64>(0))
        .optional()
        .map(|found| found.map(|number| Position::new(number.unsigned_abs())))
}

/// The verdict for a request if at least one of its ids is stored, otherwise `None`.
fn find_stored(
    connection: &Connection,
    request: &Request,
) -> Result<Option<Verdict>, rusqlite::Error> {
    let mut written = Vec::new();
    let (mut any_found, mut all_found, mut differing) = (None, true, None);
    for (stream, message) in request.messages() {
        match by_id(connection, message.id)? {
            Err(error) => return Ok(Some(Err(error))),
            Ok(None) => all_found = false,
            Ok(Some(found)) => {
                any_found.get_or_insert(message.id);
                if !found.has_content_of(stream.as_str(), &message.message) {
                    differing.get_or_insert(message.id);
                }
                written.push(Written {
                    position: found.position(),
                    global_position: found.global_position(),
                });
            }
        }
    }
    Ok(any_found.map(|first| match differing {
        _ if !all_found => Err(Error::DuplicateId { id: first }),
        Some(id) => Err(Error::DuplicateId { id }),
        None => Ok(OneOrMany::Many(written)),
    }))
}

type Found = Result<Option<RecordedMessage>, Error>;

pub(super) fn by_id(connection: &Connection, id: uuid::Uuid) -> rusqlite::Result<Found> {
    let mut select = connection.prepare_cached(statements::BY_ID)?;
    let mut rows = select.query([id.as_bytes().as_slice()])?;
    Ok(match rows.next()? {
        Some(row) => RowReader::default()
            .message(row)
            .map(Some)
            .map_err(Error::from),
        None => Ok(None),
    })
}
