//! Finding the first event after a position that matches a query.

use rusqlite::Result;

use super::alternatives::alternatives;
use super::late_statement::LateStatement;
use super::row;
use super::snapshot::Snapshot;
use super::statements::TYPE_AND_TAGS;
use super::tag_index::TagIndex;
use crate::Query;
use crate::bounds::Bounds;

/// The position of the first matching event after `after`.
///
/// Costs one index descent for each tag, type and item, however many events match. The exception is a
/// query for several tags that are frequent but hardly ever occur together.
pub(super) fn first_match(
    snapshot: &Snapshot<'_>,
    query: &Query,
    after: i64,
) -> Result<Option<i64>> {
    if after >= snapshot.head {
        return Ok(None);
    }
    if query.is_all() {
        return Ok(Some(after + 1));
    }
    let after = Bounds::forwards_after(after);
    let mut index = TagIndex::new(snapshot, after);
    let mut events = LateStatement::new(snapshot.connection, TYPE_AND_TAGS);
    let mut first = None;
    for alternative in alternatives(query) {
        index.for_each_conjunction(alternative, |index, conjunction| {
            let mut bounds = after;
            // Only a match before the best one so far can improve the result.
            bounds.below = first.unwrap_or(bounds.below);
            while let Some(position) = index.first_common_position(conjunction, bounds)? {
                if is_match(&mut events, query, position)? {
                    first = Some(position);
                    break;
                }
                // A hash collision.
                bounds = bounds.past(position);
            }
            Ok(())
        })?;
    }
    Ok(first)
}

/// Checks the event itself, because keys are hashes.
fn is_match(events: &mut LateStatement<'_>, query: &Query, position: i64) -> Result<bool> {
    let event = events.get()?;
    event.query_row([position], |row| row::is_match(query, row, 0, 1))
}
