//! What a query and the options of a read select, written from the definition alone.

use crate::{Position, Query, QueryItem, ReadOptions, SequencedEvent};

/// Whether `position` is where the read goes: past `after`, and at `from` or past it.
pub(super) fn is_past(options: ReadOptions, position: Position) -> bool {
    let past = |mark: Position| {
        if options.backwards {
            position < mark
        } else {
            position > mark
        }
    };
    options.after.is_none_or(past)
        && options
            .from
            .is_none_or(|from| from == position || past(from))
}

/// Whether the event matches, from the definition: items are OR-ed; inside an item the type is one
/// of the types and the event carries all the tags. [`Query::matches`] is not used on purpose: each
/// is a check on the other.
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
