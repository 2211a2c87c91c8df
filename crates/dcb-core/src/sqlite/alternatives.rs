//! Splits a query into searches of the tag index. Pure: no I/O.

use super::keys::{EVERY_EVENT, tag_bits, type_bits};
use crate::bounds::Bounds;
use crate::{EventType, Query, Tag};

/// Events of one type (`None` for any) that carry all of the tags. A query is a list of
/// alternatives. [`Query::all`] has none, so callers handle it separately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alternative<'q> {
    pub(super) event_type: Option<&'q EventType>,
    pub(super) tags: &'q [Tag],
}

/// The alternatives of a query: one for each type of each item.
pub(super) fn alternatives(query: &Query) -> impl Iterator<Item = Alternative<'_>> {
    query.items().iter().flat_map(|item| {
        let tags = item.tags();
        // An item without types still needs one alternative.
        let any_type = item.types().is_empty().then_some(None);
        let types = item.types().iter().map(Some);
        any_type
            .into_iter()
            .chain(types)
            .map(move |event_type| Alternative { event_type, tags })
    })
}

/// A set of index keys that selects the events that have all of them. It has one key for each tag,
/// all with the same type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conjunction<'q> {
    tags: &'q [Tag],
    type_bits: i64,
}

impl<'q> Conjunction<'q> {
    /// Selects the events whose type has these bits and that carry all of `tags`, which may be
    /// empty.
    pub(super) fn new(tags: &'q [Tag], type_bits: i64) -> Self {
        Self { tags, type_bits }
    }

    /// Selects the events of this type that carry all of `tags`, which may be empty.
    pub(super) fn typed(tags: &'q [Tag], event_type: &EventType) -> Self {
        Self::new(tags, type_bits(event_type.as_str()))
    }

    /// The number of keys, at least one.
    pub(super) fn len(&self) -> usize {
        self.tags.len().max(1)
    }

    pub(super) fn key(&self, index: usize) -> i64 {
        let tag = self.tags.get(index).map_or(EVERY_EVENT, Tag::as_str);
        tag_bits(tag) | self.type_bits
    }
}

impl Bounds {
    /// Whether the range contains no position.
    pub(super) fn is_empty(self) -> bool {
        // Saturating, because both ends may be i64::MAX.
        self.above.saturating_add(1) >= self.below
    }

    /// The rest of the read from `position` on, including it.
    pub(super) fn from(self, position: i64) -> Self {
        self.past(if self.backwards {
            position + 1
        } else {
            position - 1
        })
    }
}
