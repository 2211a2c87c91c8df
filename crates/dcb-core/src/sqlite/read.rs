//! What reads of every kind are made of.

use std::ops::ControlFlow;

use rusqlite::{Connection, Result};

use super::alternatives::Bounds;
use super::first_match::first_match;
use super::row::{self, is_event_match};
use super::scan::scan;
use super::statements::{COMMANDS, HEAD, ROLLBACK};
use crate::extent::Span;
use crate::{Error, Extent, Position, Query, ReadOptions, RecordedCommand};

/// The number of the last position, 0 of an empty log.
pub(super) fn head(connection: &Connection) -> Result<i64> {
    let head: Option<i64> = connection
        .prepare_cached(HEAD)?
        .query_row([], |row| row.get(0))?;
    Ok(head.unwrap_or(0))
}

/// A head as callers see it.
pub(super) fn position(head: i64) -> Option<Position> {
    Position::new(head.unsigned_abs())
}

/// Calls `work` with the head while all that it reads is of one moment: the statement that found
/// the head is not reset before, and until then SQLite keeps what it reads.
pub(super) fn at_one_moment<T>(
    connection: &Connection,
    work: impl FnOnce(i64) -> Result<T>,
) -> Result<T> {
    // Left behind by a panic.
    if !connection.is_autocommit() {
        connection.prepare_cached(ROLLBACK)?.execute([])?;
    }
    let mut statement = connection.prepare_cached(HEAD)?;
    let mut rows = statement.query([])?;
    let head = rows.next()?.map(|row| row.get(0)).transpose()?;
    work(head.flatten().unwrap_or(0))
}

/// Refuses a forward read that starts beyond the head.
pub(super) fn check_after(options: ReadOptions, head: Option<Position>) -> Result<(), Error> {
    match options.after {
        Some(after) if !options.backwards && head < Some(after) => {
            Err(Error::AfterBeyondHead { after, head })
        }
        _ => Ok(()),
    }
}

/// How many events of the span match, the last of them, and the head.
pub(super) fn extent(connection: &Connection, query: &Query, span: Span) -> Result<Extent> {
    if query.is_all() {
        return head(connection).map(|head| Extent::of_all(position(head), span));
    }
    at_one_moment(connection, |head| {
        let head = position(head);
        let (mut count, mut last) = (0, 0);
        scan(connection, query, Bounds::within(span), |row| {
            let matches = is_event_match(query, row)?;
            if matches {
                count += 1;
                last = row::position(row)?;
            }
            Ok(ControlFlow::Continue(matches))
        })?;
        let last = position(last);
        Ok(Extent { count, last, head })
    })
}

/// Whether any event matches.
pub(super) fn exists(connection: &Connection, query: &Query) -> Result<bool> {
    at_one_moment(connection, |head| {
        first_match(connection, query, 0, head).map(|first| first.is_some())
    })
}

/// At most `limit` commands whose events are after `after`.
pub(super) fn commands(
    connection: &Connection,
    after: Option<Position>,
    limit: u64,
) -> Result<Vec<RecordedCommand>> {
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let after = number(Position::number_or_zero(after));
    let mut commands = connection.prepare_cached(COMMANDS)?;
    let rows = commands.query_map((after, number(limit)), row::command)?;
    rows.collect()
}
