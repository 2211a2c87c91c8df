//! Visits the rows of a query's events in read order, as SQLite finds them.

use std::ops::ControlFlow;
use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Result, Row, Rows};

use super::alternatives::{Conjunction, alternatives};
use super::merge::Merge;
use super::row::position;
use super::snapshot::Snapshot;
use super::statements::{EVENTS_AT, EVENTS_IN_RANGE, EVENTS_OF_KEY};
use crate::Query;
use crate::bounds::Bounds;

/// How many events one statement reads by position. The number grows, so that a read of few events
/// stays cheap.
pub(super) const FIRST_CHUNK: usize = 16;
const LAST_CHUNK: usize = 1024;
const CHUNK_GROWTH: usize = 4;

/// If this many consecutive matches lie within `DENSE_SPAN` positions, the scan switches to reading
/// the whole range without the index. Looking up one event costs as much as reading two events in a
/// range.
const DENSE_SAMPLE: usize = 8;
const DENSE_SPAN: u64 = 2 * (DENSE_SAMPLE as u64 - 1);
/// A range scan switches back to the index if fewer than `MIN_MATCHES` of `DENSE_WINDOW` events match.
const DENSE_WINDOW: usize = 16;
const MIN_MATCHES: usize = DENSE_WINDOW / 3;

/// Calls `visit` with the row of each matching event within the bounds, in read order, until it
/// breaks.
///
/// Some visited events don't match, so `visit` has to check each event and return whether it matched.
/// No event is read before `visit` needs it; only positions are fetched ahead.
pub(super) fn scan(
    snapshot: &Snapshot<'_>,
    query: &Query,
    bounds: Bounds,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<()> {
    let flow = if query.is_all() {
        let sql = EVENTS_IN_RANGE.towards(bounds.backwards);
        let mut range = snapshot.connection.prepare_cached(sql)?;
        visit_rows(range.query((bounds.above, bounds.below))?, visit)
    } else if let Some(key) = single_key(query) {
        scan_single_key(snapshot, query, key, bounds, &mut visit)
    } else {
        scan_merged(snapshot, query, bounds, &mut visit)
    };
    flow.map(drop)
}

/// Reads the indexed events of a key with one join, and looks up the unindexed ones by position.
fn scan_single_key(
    snapshot: &Snapshot<'_>,
    query: &Query,
    key: i64,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    // The unindexed events are the newest: first when reading backwards, last when reading forwards.
    for is_unindexed in [bounds.backwards, !bounds.backwards] {
        let flow = if is_unindexed {
            scan_merged(snapshot, query, snapshot.unindexed_part(bounds), visit)
        } else {
            scan_indexed(snapshot, key, snapshot.indexed_part(bounds), visit)
        };
        if flow?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn scan_indexed(
    snapshot: &Snapshot<'_>,
    key: i64,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    if bounds.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let sql = EVENTS_OF_KEY.towards(bounds.backwards);
    let mut events = snapshot.connection.prepare_cached(sql)?;
    visit_rows(events.query((bounds.above, bounds.below, key))?, visit)
}

/// The key that covers the whole query, if there is one.
fn single_key(query: &Query) -> Option<i64> {
    let mut alternatives = alternatives(query);
    let (alternative, None) = (alternatives.next()?, alternatives.next()) else {
        return None;
    };
    let conjunction = Conjunction::typed(alternative.tags, alternative.event_type?);
    (conjunction.len() == 1).then(|| conjunction.key(0))
}

/// Merges the positions of the query's keys, in the file and in memory, and reads their events in
/// chunks.
fn scan_merged(
    snapshot: &Snapshot<'_>,
    query: &Query,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    if bounds.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let connection = snapshot.connection;
    let mut positions = Merge::new(snapshot, query, bounds)?;
    let mut events = connection.prepare_cached(EVENTS_AT)?;
    let mut range = connection.prepare_cached(EVENTS_IN_RANGE.towards(bounds.backwards))?;
    let mut chunk_size = FIRST_CHUNK;
    loop {
        let mut chunk = Vec::with_capacity(chunk_size);
        // Fetch a small sample first, to choose between a range scan and look-ups by position.
        positions.fill(&mut chunk, DENSE_SAMPLE)?;
        let Some(&first) = chunk.first() else {
            return Ok(ControlFlow::Continue(()));
        };
        if is_dense(&chunk) {
            let rest = bounds.from(first);
            match visit_while_dense(range.query((rest.above, rest.below))?, &mut *visit)? {
                ControlFlow::Continue(Some(passed)) => positions.skip_past(passed)?,
                ControlFlow::Continue(None) => return Ok(ControlFlow::Continue(())),
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            }
        } else {
            positions.fill(&mut chunk, chunk_size)?;
            // SQLite's array extension takes an `Rc<Vec<Value>>`.
            let chunk: Vec<Value> = chunk.into_iter().map(Value::from).collect();
            if visit_rows(events.query([Rc::new(chunk)])?, &mut *visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            chunk_size = (chunk_size * CHUNK_GROWTH).min(LAST_CHUNK);
        }
    }
}

fn is_dense(chunk: &[i64]) -> bool {
    match chunk {
        [first, .., last] => chunk.len() == DENSE_SAMPLE && first.abs_diff(*last) <= DENSE_SPAN,
        _ => false,
    }
}

/// Visits rows as long as enough of them match. Then returns `Continue` with the position of the
/// last visited row, or with `None` if the range has ended.
fn visit_while_dense(
    mut rows: Rows<'_>,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<(), Option<i64>>> {
    let (mut visited, mut matched) = (0, 0);
    while let Some(row) = rows.next()? {
        match visit(row)? {
            ControlFlow::Continue(matches) => matched += usize::from(matches),
            ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
        }
        visited += 1;
        if visited == DENSE_WINDOW {
            if matched < MIN_MATCHES {
                return position(row).map(|last| ControlFlow::Continue(Some(last)));
            }
            (visited, matched) = (0, 0);
        }
    }
    Ok(ControlFlow::Continue(None))
}

fn visit_rows(
    mut rows: Rows<'_>,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    while let Some(row) = rows.next()? {
        if visit(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
