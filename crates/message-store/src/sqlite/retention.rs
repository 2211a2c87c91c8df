//! Deletes old messages.
//!
//! Invariant: deletion takes a stream's messages from the front and keeps the last one, so
//! positions have no gap and the version stays known (tests: the conformance suite's retention
//! cases in `tests/it/sqlite/memory.rs` and `tests/it/sqlite/file.rs`).

use rusqlite::{Connection, OptionalExtension};

use super::apply::version;
use super::error::Failure;
use super::list::name;
use super::row::stored;
use super::statements;
use crate::{Category, Position};

/// Streams per transaction. Writers wait for one transaction, so it must be short.
const STREAMS_PER_STEP: usize = 256;

/// Deletes a stream's messages before a position, except its last message.
pub(super) fn truncate(
    connection: &Connection,
    stream: &str,
    before: Position,
) -> Result<u64, Failure> {
    let Some(version) = version(connection, stream)? else {
        return Ok(0);
    };
    // Capping the position at the version keeps the last message.
    let deleted = connection
        .prepare_cached(statements::TRUNCATE)?
        .execute((stream, stored(before.min(version).get())))?;
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
            deleted += expire(connection, &stream, before_us)?;
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

/// Deletes a stream's messages before the first one that was written at `before_us` or later.
fn expire(connection: &Connection, stream: &str, before_us: i64) -> Result<u64, Failure> {
    let first: Option<i64> = connection
        .prepare_cached(statements::FIRST_SINCE)?
        .query_row((stream, before_us), |row| row.get(0))
        .optional()?;
    // If all messages are old, `truncate` still keeps the last one.
    let before = first.map_or(u64::MAX, i64::unsigned_abs);
    truncate(connection, stream, Position::new(before))
}
