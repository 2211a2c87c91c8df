//! Head, extent, existence and command reads.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, Result};
use uuid::Uuid;

use super::first_match::first_match;
use super::row::{self, is_event_match};
use super::scan::scan;
use super::snapshot::Snapshot;
use super::statements::{COMMANDS, LAST_EVENT};
use crate::bounds::Bounds;
use crate::extent::Span;
use crate::{Bookmark, Extent, Position, Query, RecordedCommand};

/// The last event, `None` if the log is empty.
pub(super) fn head(connection: &Connection) -> Result<Option<Bookmark>> {
    let mut statement = connection.prepare_cached(LAST_EVENT)?;
    let last = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    let last = last.optional()?;
    Ok(last.and_then(|(number, id)| Some(Bookmark::new(position(number)?, Uuid::from_bytes(id)))))
}

/// The position of a number, `None` for 0.
fn position(number: i64) -> Option<Position> {
    Position::new(number.unsigned_abs())
}

/// Counts the matching events of the span and finds the last of them.
pub(super) fn extent(snapshot: &Snapshot<'_>, query: &Query, span: Span) -> Result<Extent> {
    let (head, end) = (snapshot.last, position(snapshot.head));
    if query.is_all() {
        let event = end.min(Position::new(span.last));
        let event = event.map(|event| snapshot.bookmark_at(event)).transpose()?;
        return Ok(Extent::of_all(event, head, span));
    }
    let (mut count, mut last) = (0, 0);
    scan(snapshot, query, Bounds::within(span), |row| {
        // Checks type and tags in the row, which is cheaper than decoding the event.
        let matches = is_event_match(query, row)?;
        if matches {
            count += 1;
            last = row::position(row)?;
        }
        Ok(ControlFlow::Continue(matches))
    })?;
    let last = position(last);
    let last = last.map(|last| snapshot.bookmark_at(last)).transpose()?;
    Ok(Extent { count, last, head })
}

/// Whether any event matches.
pub(super) fn exists(snapshot: &Snapshot<'_>, query: &Query) -> Result<bool> {
    first_match(snapshot, query, 0).map(|first| first.is_some())
}

/// Reads at most `limit` commands whose events come after `after`.
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
