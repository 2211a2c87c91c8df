use std::fmt;

/// A message's position in its stream: 0, 1, 2 … without gaps. Retention may have deleted the first
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(u64);

/// A message's position among all messages of the store, from 1. There may be gaps.
///
/// Within a stream and within a category it increases in commit order. Reads of all messages return
/// them in this order too: they stop before the first position that an open transaction may still
/// fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalPosition(u64);

impl Position {
    /// The first position of a stream.
    pub const START: Self = Self(0);

    /// The position with this number.
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

    /// A stream's version in Message DB's form: -1 if there is no stream.
    pub fn number_or_minus_one(version: Option<Self>) -> i64 {
        version.map_or(-1, |position| i64::try_from(position.0).unwrap_or(i64::MAX))
    }
}

impl GlobalPosition {
    /// The first position of a store.
    pub const START: Self = Self(1);

    /// The position with this number. 0 comes before every message.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one, where a reader that has read this one continues.
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
