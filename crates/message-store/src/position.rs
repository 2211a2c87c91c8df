use std::fmt;

/// A message's place in its stream: 0, 1, 2 … without gaps but before the first that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

/// A message's place among all messages of the store, from 1. Within a stream and within a category
/// it increases in commit order. Readers of all messages see them in its order too: what a smaller
/// position may still come before is held back from them. It need not be dense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalPosition(u64);

impl Position {
    /// Where a stream begins.
    pub const START: Self = Self(0);

    /// The position of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// A stream's version as Message DB writes it: -1 where there is no stream.
    pub fn number_or_minus_one(version: Option<Self>) -> i64 {
        version.map_or(-1, |position| i64::try_from(position.0).unwrap_or(i64::MAX))
    }
}

impl GlobalPosition {
    /// Where the store begins.
    pub const START: Self = Self(1);

    /// The position of this number; 0 stands before every message.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one: where a reader goes on that has read up to here.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Default for GlobalPosition {
    fn default() -> Self {
        Self::START
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for GlobalPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
