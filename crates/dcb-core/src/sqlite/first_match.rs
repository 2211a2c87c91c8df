//! The first event that a query matches after a position.

use rusqlite::{CachedStatement, Result};

use super::alternatives::{Bounds, alternatives};
use super::moment::Moment;
use super::row;
use super::statements::TYPE_AND_TAGS;
use super::tag_index::TagIndex;
use crate::Query;

/// The first position after `after` whose event matches.
///
/// Costs a descent of the index for each tag, type and item, whatever the number of matches, but
/// for tags that are frequent and hardly ever meet.
pub(super) fn first_match(moment: &Moment<'_>, query: &Query, after: i64) -> Result<Option<i64>> {
    if after >= moment.head {
        return Ok(None);
    }
    if query.is_all() {
        return Ok(Some(after + 1));
    }
    let mut index = TagIndex::new(moment, false)?;
    let mut events = moment.connection.prepare_cached(TYPE_AND_TAGS)?;
    let mut first = None;
    for alternative in alternatives(query) {
        index.for_each_trail(alternative, |index, trail| {
            let mut bounds = Bounds::forwards_after(after);
            bounds.below = first.unwrap_or(bounds.below);
            while let Some(position) = index.meet(trail, bounds)? {
                if is_match(&mut events, query, position)? {
                    first = Some(position);
                    break;
                }
                bounds = bounds.past(position);
            }
            Ok(())
        })?;
    }
    Ok(first)
}

/// Keys are hashes: the event itself has the last word.
fn is_match(events: &mut CachedStatement<'_>, query: &Query, position: i64) -> Result<bool> {
    events.query_row([position], |row| row::is_match(query, row, 0, 1))
}
