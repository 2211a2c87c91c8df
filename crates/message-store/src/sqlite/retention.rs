//! What is deleted while its stream lives on.

use rusqlite::{Connection, OptionalExtension};

use super::apply::version;
use super::list::name;
use super::row::stored;
use super::statements;
use crate::{Category, Error, Position};

/// Streams that one transaction looks at: writers wait for no more.
const STREAMS_PER_PART: usize = 256;

/// Deletes what a stream has before a position, but not its last message.
pub(super) fn truncate(
    connection: &Connection,
    stream: &str,
    before: Position,
) -> Result<u64, Error> {
    let Some(version) = version(connection, stream)? else {
        return Ok(0);
    };
    let deleted = connection
        .prepare_cached(statements::TRUNCATE)?
        .execute((stream, stored(before.min(version).get())))?;
    Ok(deleted as u64)
}

/// An expiry on its way through the names of the streams.
pub(super) struct Expiry {
    /// What the names begin with.
    prefix: String,
    /// The next stream.
    pub(super) next: Option<String>,
    pub(super) deleted: u64,
}

impl Expiry {
    /// At the first stream of a category.
    pub(super) fn begin(connection: &Connection, category: &Category) -> Result<Self, Error> {
        let prefix = match category.as_str() {
            "" => String::new(),
            category => format!("{category}-"),
        };
        Ok(Self {
            next: name(connection, statements::NAME_FROM, &prefix)?,
            prefix,
            deleted: 0,
        })
    }

    /// The next part, in the transaction at hand.
    pub(super) fn part(&self, connection: &Connection, before_us: i64) -> Result<Self, Error> {
        let (mut next, mut deleted) = (self.next.clone(), self.deleted);
        for _ in 0..STREAMS_PER_PART {
            let Some(stream) = next.filter(|stream| stream.starts_with(&self.prefix)) else {
                next = None;
                break;
            };
            deleted += expire(connection, &stream, before_us)?;
            next = name(connection, statements::NAME_AFTER, &stream)?;
        }
        Ok(Self {
            prefix: self.prefix.clone(),
            next,
            deleted,
        })
    }
}

/// Deletes what a stream has before its first message as young as `before_us`.
fn expire(connection: &Connection, stream: &str, before_us: i64) -> Result<u64, Error> {
    let first: Option<i64> = connection
        .prepare_cached(statements::FIRST_SINCE)?
        .query_row((stream, before_us), |row| row.get(0))
        .optional()?;
    let before = first.map_or(u64::MAX, i64::unsigned_abs);
    truncate(connection, stream, Position::new(before))
}
