//! Splits a query into searches of the tag index. Pure: no I/O.

use super::keys::{EVERY_EVENT, tag_bits, type_bits};
use crate::extent::Span;
use crate::{EventType, Query, ReadOptions, Tag};

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

/// The range of positions that a read covers, both ends exclusive, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) above: i64,
    pub(super) below: i64,
    pub(super) backwards: bool,
}

impl Bounds {
    pub(super) fn of(options: ReadOptions) -> Self {
        // Saturating is safe, because no log reaches such positions.
        let number = |position: crate::Position| i64::try_from(position.get()).unwrap_or(i64::MAX);
        let after = crate::Bookmark::position_of(options.after).map(number);
        let from = options.from.map(number);
        let mut bounds = Self::forwards_after(0);
        bounds.backwards = options.backwards;
        if options.backwards {
            let from = from.map_or(i64::MAX, |from| from.saturating_add(1));
            bounds.below = after.unwrap_or(i64::MAX).min(from);
        } else {
            bounds.above = after.unwrap_or(0).max(from.map_or(0, |from| from - 1));
        }
        bounds
    }

    pub(super) fn within(span: Span) -> Self {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            below: number(span.last.saturating_add(1)),
            ..Self::forwards_after(number(span.first - 1))
        }
    }

    /// All positions after `above`.
    pub(super) const fn forwards_after(above: i64) -> Self {
        Self {
            above,
            below: i64::MAX,
            backwards: false,
        }
    }

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

    /// The rest of the read after `position`.
    pub(super) fn past(self, position: i64) -> Self {
        if self.backwards {
            Self {
                below: position,
                ..self
            }
        } else {
            Self {
                above: position,
                ..self
            }
        }
    }
}
