//! Decides whether a request can be appended. The order of the checks is the same in all backends.

use rusqlite::{Connection, OptionalExtension as _, Result};
use uuid::Uuid;

use super::first_match::first_match;
use super::request::{Request, Verdict};
use super::row;
use super::snapshot::Snapshot;
use super::statements::{ALL_TRACKED, BY_ID, TRACKED};
use crate::{AppendCondition, Appended, Bookmark, Error, Position, SequencedEvent, Tracking};

/// Returns the verdict on a request that must not be written, or `None` if it has to be written.
pub(super) fn verdict(snapshot: &Snapshot<'_>, request: &Request) -> Result<Option<Verdict>> {
    let connection = snapshot.connection;
    // Check the ids before the conditions: a repeated append would conflict with its own events.
    if let Some(verdict) = stored(connection, request)? {
        return Ok(Some(verdict));
    }
    let conditions = &request.append.conditions;
    if let Some(error) = replaced(snapshot, conditions)? {
        return Ok(Some(Err(error)));
    }
    if let Some(error) = beyond(conditions, snapshot.head) {
        return Ok(Some(Err(error)));
    }
    if let Some(tracking) = &request.append.tracking
        && let Some(error) = tracked_before(connection, tracking)?
    {
        return Ok(Some(Err(error)));
    }
    conflict(snapshot, conditions)
}

/// The verdict on an append if at least one of its ids is already in the log.
fn stored(connection: &Connection, request: &Request) -> Result<Option<Verdict>> {
    let events = &request.append.events;
    // Generated ids can't be in the log, so most appends need no look-up.
    if events.iter().all(|event| event.id().is_none()) {
        return Ok(None);
    }
    let with_id = |id: Option<Uuid>| id.map_or(Ok(None), |id| by_id(connection, id));
    let stored: Vec<Option<SequencedEvent>> = events
        .iter()
        .map(|event| with_id(event.id()))
        .collect::<Result<_>>()?;
    let Some(first) = stored.iter().flatten().next() else {
        return Ok(None);
    };
    let different = stored.iter().zip(events).find_map(|(stored, event)| {
        let stored = stored.as_ref()?;
        (!stored.has_content_of(event)).then_some(stored)
    });
    let duplicate = |event: &SequencedEvent| Error::DuplicateId { id: event.id() };
    let all = stored.iter().all(Option::is_some);
    let verdict = match different {
        _ if !all => Err(duplicate(first)),
        Some(different) => Err(duplicate(different)),
        None => {
            let positions = stored.iter().flatten().map(SequencedEvent::position);
            Appended::found(positions.collect()).ok_or_else(|| duplicate(first))
        }
    };
    Ok(Some(verdict))
}

fn by_id(connection: &Connection, id: Uuid) -> Result<Option<SequencedEvent>> {
    connection
        .prepare_cached(BY_ID)?
        .query_row([id.as_bytes()], row::event)
        .optional()
}

/// The error of the first event that a condition was decided on and that the log has lost.
fn replaced(snapshot: &Snapshot<'_>, conditions: &[AppendCondition]) -> Result<Option<Error>> {
    let mut first: Option<Position> = None;
    for after in conditions.iter().filter_map(|condition| condition.after) {
        let Bookmark { position, event_id } = after;
        if event_id.is_some()
            && first.is_none_or(|first| position < first)
            && let found @ Some(_) = snapshot.id_at(position)?
            && !after.accepts(found)
        {
            first = Some(position);
        }
    }
    Ok(first.map(|position| Error::PastReplaced { position }))
}

fn beyond(conditions: &[AppendCondition], head: i64) -> Option<Error> {
    let head = Position::new(head.unsigned_abs());
    let mut afters = conditions
        .iter()
        .filter_map(|condition| Bookmark::position_of(condition.after));
    let after = afters.find(|after| head < Some(*after))?;
    Some(Error::AfterBeyondHead { after, head })
}

fn tracked_before(connection: &Connection, tracking: &Tracking) -> Result<Option<Error>> {
    let tracked = tracked(connection, tracking.source())?;
    Ok(tracked
        .filter(|tracked| tracking.position() <= *tracked)
        .map(|tracked| Error::AlreadyTracked {
            origin: tracking.source().to_owned(),
            tracked,
        }))
}

/// The last upstream position tracked for `source`.
pub(super) fn tracked(connection: &Connection, source: &str) -> Result<Option<u64>> {
    let tracked: Option<i64> = connection
        .prepare_cached(TRACKED)?
        .query_row([source], |row| row.get(0))
        .optional()?;
    Ok(tracked.map(i64::unsigned_abs))
}

/// The last upstream position of each source.
pub(super) fn all_tracked(connection: &Connection) -> Result<Vec<(String, i64)>> {
    let mut statement = connection.prepare_cached(ALL_TRACKED)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The conflict with the first event of the log that makes a condition fail.
fn conflict(snapshot: &Snapshot<'_>, conditions: &[AppendCondition]) -> Result<Option<Verdict>> {
    let mut first: Option<(i64, usize)> = None;
    for (index, condition) in conditions.iter().enumerate() {
        let after = Position::number_or_zero(Bookmark::position_of(condition.after)).cast_signed();
        let found = first_match(snapshot, &condition.fail_if_events_match, after)?;
        // If an event makes several conditions fail, the first of them counts.
        if let Some(position) = found
            && first.is_none_or(|(earlier, _)| position < earlier)
        {
            first = Some((position, index));
        }
    }
    Ok(first.and_then(|(position, condition)| {
        let position = Position::new(position.unsigned_abs())?;
        Some(Err(Error::Conflict {
            position,
            condition,
        }))
    }))
}
