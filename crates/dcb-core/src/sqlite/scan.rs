//! The events of a query, row by row as SQLite finds them.

use std::ops::ControlFlow;

use rusqlite::{Connection, Result, Row, Rows};

use super::alternatives::{Bounds, Trail, alternatives};
use super::merge::Merge;
use super::row::position;
use super::statements::{OF_KEY, RANGE};
use crate::Query;

/// Events so close to each other are read in one go, those between them too: beginning anew at a
/// position costs as much as passing two rows.
const MAX_GAP: u64 = 2;
/// After so many events close to each other, events are read on without asking the index,
const MANY: usize = 8;
/// until of so many
const WINDOW: usize = 16;
/// not even so many match.
const FEW: usize = WINDOW / 3;

/// Calls `visit` with the row of each event within the bounds that matches, in the direction of the
/// bounds, until it breaks off. Of other events too, now and then: `visit` checks, and says whether
/// the event matched. Nothing is read that `visit` does not ask for, but positions.
pub(super) fn scan(
    connection: &Connection,
    query: &Query,
    bounds: Bounds,
    mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<()> {
    if query.is_all() {
        let mut range = connection.prepare_cached(RANGE.towards(bounds.backwards))?;
        let rows = range.query((bounds.above, bounds.below))?;
        return each(rows, visit).map(drop);
    }
    match single_key(query) {
        Some(key) => {
            let mut of_key = connection.prepare_cached(OF_KEY.towards(bounds.backwards))?;
            let rows = of_key.query((bounds.above, bounds.below, key))?;
            each(rows, visit).map(drop)
        }
        None => merged(connection, query, bounds, &mut visit),
    }
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

fn merged(
    connection: &Connection,
    query: &Query,
    bounds: Bounds,
    visit: &mut impl FnMut(&Row<'_>) -> Result<ControlFlow<(), bool>>,
) -> Result<()> {
    let mut positions = Merge::new(connection, query, bounds)?;
    let mut range = connection.prepare_cached(RANGE.towards(bounds.backwards))?;
    let mut next = positions.next()?;
    while let Some(first) = next {
        let (mut last, mut length) = (first, 1);
        next = positions.next()?;
        while let Some(position) = next
            && position.abs_diff(last) <= MAX_GAP
            && length < MANY
        {
            (last, length) = (position, length + 1);
            next = positions.next()?;
        }
        if length == MANY {
            let left = bounds.from(first);
            let rows = range.query((left.above, left.below))?;
            let ControlFlow::Continue(Some(passed)) = while_dense(rows, &mut *visit)? else {
                break;
            };
            let is_passed = |next: i64| match bounds.backwards {
                true => next >= passed,
                false => next <= passed,
            };
            if next.is_some_and(is_passed) {
                positions.skip_past(passed)?;
                next = positions.next()?;
            }
        } else {
            let (lowest, highest) = (first.min(last), first.max(last));
            let rows = range.query((lowest - 1, highest + 1))?;
            if each(rows, &mut *visit)?.is_break() {
                break;
            }
        }
    }
    Ok(())
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
