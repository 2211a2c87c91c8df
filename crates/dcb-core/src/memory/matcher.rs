//! The events that a query and read options select, implemented from their definition.
//!
//! This module shares no matching code with the other backends, so that they don't share mistakes
//! either. In particular it does not use [`Query::matches`]. The conformance suite runs random
//! histories on every backend and compares the results with those of the memory store.
//! `tests/it/broken_stores/mod.rs` shows that this finds wrong matches.

use crate::{Position, Query, QueryItem, ReadOptions, SequencedEvent};

/// Whether `position` satisfies both `after` (exclusive) and `from` (inclusive).
pub(super) fn is_in_range(options: ReadOptions, position: Position) -> bool {
    let is_past = |start: Position| {
        if options.backwards {
            position < start
        } else {
            position > start
        }
    };
    options.after.is_none_or(|after| is_past(after.position))
        && options
            .from
            .is_none_or(|from| from == position || is_past(from))
}

/// Whether the event matches any item. It matches an item if its type is one of the item's types
/// and it carries all of the item's tags.
pub(super) fn matches(query: &Query, event: &SequencedEvent) -> bool {
    query.is_all() || query.items().iter().any(|item| matches_item(item, event))
}

fn matches_item(item: &QueryItem, event: &SequencedEvent) -> bool {
    let mut types = item.types().iter();
    let carried: Vec<&str> = event.tags().collect();
    let has_type = types.len() == 0 || types.any(|wanted| wanted.as_str() == event.event_type());
    let lacks_a_tag = item
        .tags()
        .iter()
        .any(|wanted| !carried.contains(&wanted.as_str()));
    has_type && !lacks_a_tag
}
