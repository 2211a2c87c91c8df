use crate::extent::Span;
use crate::{Bookmark, Position, ReadOptions};

/// The positions that a read covers, both ends exclusive, and its direction. Both databases count positions in
/// `i64`; no log reaches its end, so saturating is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) above: i64,
    pub(crate) below: i64,
    pub(crate) backwards: bool,
}

impl Bounds {
    pub(crate) fn of(options: ReadOptions) -> Self {
        // `after` is exclusive like the bounds; `from` is inclusive, hence the + 1 and - 1.
        let after = Bookmark::position_of(options.after).map(number);
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

    pub(crate) fn within(span: Span) -> Self {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            below: number(span.last.saturating_add(1)),
            ..Self::forwards_after(number(span.first - 1))
        }
    }

    /// All positions after `above`.
    pub(crate) const fn forwards_after(above: i64) -> Self {
        Self {
            above,
            below: i64::MAX,
            backwards: false,
        }
    }

    /// The positions of a log with this head.
    pub(crate) fn through(self, head: Option<Position>) -> Self {
        let end = head.map_or(1, |head| number(head).saturating_add(1));
        Self {
            below: self.below.min(end),
            ..self
        }
    }

    /// The rest of the read after `position`.
    pub(crate) fn past(self, position: i64) -> Self {
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

fn number(position: Position) -> i64 {
    i64::try_from(position.get()).unwrap_or(i64::MAX)
}
