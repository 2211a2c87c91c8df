//! Deletes old messages.
//!
//! Invariant: deletion takes a stream's messages from the front and keeps the last one, so
//! positions have no gap and the version stays known (tests: the conformance suite's retention
//! cases in `tests/it/sqlite/memory.rs` and `tests/it/sqlite/file.rs`).

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::apply::version;
use super::error::Failure;
use super::list::name;
use super::row::stored;
use super::statements;
use crate::{Category, Position};

/// Streams per transaction. Writers wait for one transaction, so it must be short.
const STREAMS_PER_STEP: usize = 256;
/// Messages per transaction, for the same reason.
pub(super) const MESSAGES_PER_STEP: u64 = 2048;
/// The pause between two transactions, in which calls of this and other processes take the lock.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// Deletes a stream's messages before a position, except its last message, and at most `most` of them.
/// If it deletes that many, more may be left.
pub(super) fn truncate(
    connection: &Connection,
    stream: &str,
    before: Position,
    most: u64,
) -> Result<u64, Failure> {
    let Some(version) = version(connection, stream)? else {
        return Ok(0);
    };
    // Capping the position at the version keeps the last message.
    let deleted = connection.prepare_cached(statements::TRUNCATE)?.execute((
        stream,
        stored(before.min(version).get()),
        stored(most),
    ))?;
    Ok(deleted as u64)
}

/// The progress of an expiry, which visits the streams in the order of their names.
pub(super) struct Expiry {
    category: Category,
    /// The next stream to visit; `None` at the end.
    pub(super) next_stream: Option<String>,
    pub(super) deleted: u64,
}

impl Expiry {
    /// Starts at the first stream of a category.
    pub(super) fn start(connection: &Connection, category: &Category) -> Result<Self, Failure> {
        let first = name(connection, statements::NAME_FROM, category.as_str())?;
        Ok(Self {
            category: category.clone(),
            next_stream: in_category(connection, category, first)?,
            deleted: 0,
        })
    }

    /// Visits the next streams within the caller's transaction. Returns the new state instead of
    /// changing `self`, because the caller retries a step whose transaction was rolled back.
    pub(super) fn step(&self, connection: &Connection, before_us: i64) -> Result<Self, Failure> {
        let (mut next_stream, mut deleted) = (self.next_stream.clone(), self.deleted);
        for _ in 0..STREAMS_PER_STEP {
            let Some(stream) = next_stream else { break };
            let most = MESSAGES_PER_STEP - (deleted - self.deleted);
            let expired = expire(connection, &stream, before_us, most)?;
            deleted += expired;
            if expired == most {
                // The next step goes on with this stream.
                next_stream = Some(stream);
                break;
            }
            let next = name(connection, statements::NAME_AFTER, &stream)?;
            next_stream = in_category(connection, &self.category, next)?;
        }
        Ok(Self {
            category: self.category.clone(),
            next_stream,
            deleted,
        })
    }
}

/// The first stream of a category at or after `found`, a name after all streams already visited.
fn in_category(
    connection: &Connection,
    category: &Category,
    found: Option<String>,
) -> Result<Option<String>, Failure> {
    // Names of other categories can sort between `a` and `a-1`, for example `a b-1`.
    let first_id = format!("{category}-");
    let found = match found {
        Some(found) if !category.includes(&found) && found < first_id => {
            name(connection, statements::NAME_FROM, &first_id)?
        }
        found => found,
    };
    Ok(found.filter(|found| category.includes(found)))
}

/// Deletes a stream's messages before the first one that was written at `before_us` or later, and at
/// most `most` of them.
fn expire(
    connection: &Connection,
    stream: &str,
    before_us: i64,
    most: u64,
) -> Result<u64, Failure> {
    let first: Option<i64> = connection
        .prepare_cached(statements::FIRST_SINCE)?
        .query_row((stream, before_us, stored(most)), |row| row.get(0))
        .optional()?;
    // If all messages are old, `truncate` still keeps the last one.
    let before = first.map_or(u64::MAX, i64::unsigned_abs);
    truncate(connection, stream, Position::new(before), most)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::sqlite::{BlockingSqliteStore, Config};
    use crate::time::to_us;
    use crate::{ExpectedVersion, Message, StreamName};

    const MESSAGES: u64 = 2 * MESSAGES_PER_STEP + 10;

    /// A store with one long stream.
    fn long_stream() -> (BlockingSqliteStore, StreamName) {
        let store = BlockingSqliteStore::open(Config::memory()).unwrap();
        let stream = StreamName::new("device-1").unwrap();
        let message = Message::builder("Seen").build().unwrap();
        for _ in 0..MESSAGES {
            let written = store.write_message(&stream, message.clone(), ExpectedVersion::Any);
            written.unwrap();
        }
        (store, stream)
    }

    #[test]
    fn long_stream_is_expired_in_steps() {
        let (store, _) = long_stream();
        let later = to_us(SystemTime::now() + Duration::from_secs(60));
        let guard = store.shared.writer.lock();
        let connection = guard.as_ref().unwrap();
        let category = Category::new("device").unwrap();
        let Ok(mut expiry) = Expiry::start(connection, &category) else {
            panic!("the first stream is found");
        };
        let mut steps = Vec::new();
        while expiry.next_stream.is_some() {
            let Ok(next) = expiry.step(connection, later) else {
                panic!("a step deletes");
            };
            steps.push(next.deleted - expiry.deleted);
            expiry = next;
        }
        assert_eq!(steps, [MESSAGES_PER_STEP, MESSAGES_PER_STEP, 9]);
    }

    #[test]
    fn long_stream_is_truncated_to_its_last_message() {
        let (store, stream) = long_stream();
        let deleted = store.truncate_stream(&stream, Position::new(u64::MAX));
        let last = MESSAGES - 1;
        assert_eq!(deleted.unwrap(), last);
        let version = store.stream_version(&stream).unwrap();
        assert_eq!(version, Some(Position::new(last)));
    }
}
