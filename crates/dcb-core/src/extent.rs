use std::ops::{Bound, RangeBounds};

use crate::Position;

/// How many events a query selects in a part of the log, and the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many events match.
    pub count: u64,
    /// The last event that matches, `None` where none does.
    pub last: Option<Position>,
    /// The last position of the log in the same snapshot, `None` of an empty log.
    pub head: Option<Position>,
}

/// A part of a log by the numbers of its first and last position, both inclusive; empty where the
/// first is greater. Positions begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Span {
    /// The whole log.
    pub(crate) const ALL: Self = Self {
        first: 1,
        last: u64::MAX,
    };

    pub(crate) fn of(range: &impl RangeBounds<Position>) -> Self {
        let first = match range.start_bound() {
            Bound::Included(first) => first.get(),
            Bound::Excluded(before) => before.get().saturating_add(1),
            Bound::Unbounded => Self::ALL.first,
        };
        let last = match range.end_bound() {
            Bound::Included(last) => last.get(),
            Bound::Excluded(behind) => behind.get() - 1,
            Bound::Unbounded => Self::ALL.last,
        };
        Self { first, last }
    }

    pub(crate) fn contains(self, position: Position) -> bool {
        (self.first..=self.last).contains(&position.get())
    }
}

impl Extent {
    /// That of all events: positions are dense.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of_all(head: Option<Position>, span: Span) -> Self {
        let last = Position::number_or_zero(head).min(span.last);
        let count = last.saturating_sub(span.first - 1);
        Self {
            count,
            last: Position::new(last).filter(|_| count > 0),
            head,
        }
    }
}
