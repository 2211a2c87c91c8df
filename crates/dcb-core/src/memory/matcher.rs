//! The events that a query and read options select, implemented from their definition.
//!
//! This module shares no code with the other backends where they could be wrong in the same way. In
//! particular it does not use [`Query::matches`], so that the memory store and the other backends
//! check each other: the random histories of the conformance suite compare every backend with this
//! one. `tests/it/broken_stores/mod.rs` shows that they find wrong matches.

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
    options.after.is_none_or(is_past)
        && options
            .from
            .is_none_or(|from| from == position || is_past(from))
}

/// Whether the event matches any item. In an item, the event's type is one of the types and the event
/// carries all of the tags.
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
