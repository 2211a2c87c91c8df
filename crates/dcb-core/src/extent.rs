use std::ops::{Bound, RangeBounds};

use crate::{Bookmark, Position};

/// The number of events that a query selects in a range of positions, the last of them, and the
/// head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of matching events.
    pub count: u64,
    /// The last matching event, `None` without matches.
    pub last: Option<Bookmark>,
    /// The last event of the log in the same snapshot, `None` if the log is empty.
    pub head: Option<Bookmark>,
}

/// A range of positions, both ends inclusive. It is empty if `first` is greater than `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
            // No underflow: a position is at least 1.
            Bound::Excluded(end) => end.get() - 1,
            Bound::Unbounded => Self::ALL.last,
        };
        Self { first, last }
    }

    pub(crate) fn contains(self, position: Position) -> bool {
        (self.first..=self.last).contains(&position.get())
    }
}

impl Extent {
    /// The extent of [`Query::all`](crate::Query::all), computed without a count because positions
    /// are dense. `event` is the last event in the span.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of_all(event: Option<Bookmark>, head: Option<Bookmark>, span: Span) -> Self {
        let through = Position::number_or_zero(Bookmark::position_of(event));
        let count = through.saturating_sub(span.first - 1);
        Self {
            count,
            last: event.filter(|_| count > 0),
            head,
        }
    }
}
