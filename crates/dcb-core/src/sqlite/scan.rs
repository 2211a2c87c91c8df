//! The events of a query, row by row as SQLite finds them.

use std::ops::ControlFlow;
use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::{Result, Row, Rows};

use super::alternatives::{Bounds, Trail, alternatives};
use super::merge::Merge;
use super::moment::Moment;
use super::row::position;
use super::statements::{AT, OF_KEY, RANGE};
use crate::Query;

/// The events of so many positions are read by one statement, at first and at most.
const FIRST_CHUNK: usize = 16;
const LAST_CHUNK: usize = 1024;
const CHUNK_GROWTH: usize = 4;
/// Where so many positions span no more than this, events are read on without asking the index, those
/// between them too: an event that is looked up costs as much as passing two.
const MANY: usize = 8;
const DENSE_SPAN: u64 = 2 * (MANY as u64 - 1);
/// Until of so many
const WINDOW: usize = 16;
/// not even so many match.
const FEW: usize = WINDOW / 3;

/// Calls `visit` with the row of each event within the bounds that matches, in the direction of the
/// bounds, until it breaks off. Of other events too, now and then: `visit` checks, and says whether
/// the event matched. Nothing is read that `visit` does not ask for, but positions.
pub(super) fn scan(
    moment: &Moment<'_>,
    query: &Query,
    bounds: Bounds,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<()> {
    let ended = if query.is_all() {
        let mut range = moment
            .connection
            .prepare_cached(RANGE.towards(bounds.backwards))?;
        each(range.query((bounds.above, bounds.below))?, visit)
    } else if let Some(key) = single_key(query) {
        under_one_key(moment, query, key, bounds, &mut visit)
    } else {
        merged(moment, query, bounds, &mut visit)
    };
    ended.map(drop)
}

/// The index in the file gives the events of a key by one statement; those in memory are looked up.
fn under_one_key(
    moment: &Moment<'_>,
    query: &Query,
    key: i64,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    for is_recent in [bounds.backwards, !bounds.backwards] {
        let ended = if is_recent {
            merged(moment, query, moment.recent(bounds), visit)
        } else {
            indexed(moment, key, moment.indexed(bounds), visit)
        };
        if ended?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn indexed(
    moment: &Moment<'_>,
    key: i64,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    if bounds.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let sql = OF_KEY.towards(bounds.backwards);
    let mut of_key = moment.connection.prepare_cached(sql)?;
    each(of_key.query((bounds.above, bounds.below, key))?, visit)
}

/// The one key under which all events of the query are, where there is such a key.
fn single_key(query: &Query) -> Option<i64> {
    let mut alternatives = alternatives(query);
    let (alternative, None) = (alternatives.next()?, alternatives.next()) else {
        return None;
    };
    let trail = Trail::typed(alternative.tags, alternative.event_type?);
    (trail.len() == 1).then(|| trail.key(0))
}

/// The positions come from several keys, or from memory; their events are read in chunks.
fn merged(
    moment: &Moment<'_>,
    query: &Query,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<ControlFlow<()>> {
    if bounds.is_empty() {
        return Ok(ControlFlow::Continue(()));
    }
    let connection = moment.connection;
    let mut positions = Merge::new(moment, query, bounds)?;
    let mut at = connection.prepare_cached(AT)?;
    let mut range = connection.prepare_cached(RANGE.towards(bounds.backwards))?;
    let mut size = FIRST_CHUNK;
    loop {
        let mut chunk = Vec::with_capacity(size);
        positions.fill(&mut chunk, MANY)?;
        let Some(&first) = chunk.first() else {
            return Ok(ControlFlow::Continue(()));
        };
        if is_dense(&chunk) {
            let left = bounds.from(first);
            match while_dense(range.query((left.above, left.below))?, &mut *visit)? {
                ControlFlow::Continue(Some(passed)) => positions.skip_past(passed)?,
                ControlFlow::Continue(None) => return Ok(ControlFlow::Continue(())),
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
            }
        } else {
            positions.fill(&mut chunk, size)?;
            let chunk: Vec<Value> = chunk.into_iter().map(Value::from).collect();
            if each(at.query([Rc::new(chunk)])?, &mut *visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            size = (size * CHUNK_GROWTH).min(LAST_CHUNK);
        }
    }
}

fn is_dense(chunk: &[i64]) -> bool {
    match chunk {
        [first, .., last] => chunk.len() == MANY && first.abs_diff(*last) <= DENSE_SPAN,
        _ => false,
    }
}

/// Visits rows as long as enough of them match. Continues with the position of the last one, if
/// there may be more.
fn while_dense(
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
        if visited == WINDOW {
            if matched < FEW {
                return position(row).map(|last| ControlFlow::Continue(Some(last)));
            }
            (visited, matched) = (0, 0);
        }
    }
    Ok(ControlFlow::Continue(None))
}

fn each(
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
