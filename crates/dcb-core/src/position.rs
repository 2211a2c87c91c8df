use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::text::invalid;
use crate::{Error, Problem};

/// The position of an event in its log. Positions are dense (they start at 1 and have no gaps), and
/// they are in commit order.
///
/// A failed append uses no position, so the events up to a position never change: a reader that has
/// read up to a position has missed nothing. There is no position 0; `Option<Position>` uses `None`
/// for "nothing read yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Position(NonZeroU64);

impl Position {
    /// The position of a log's first event.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The position with this number, `None` for 0.
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number of this position, at least 1.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The position that follows this one.
    pub const fn next(self) -> Self {
        // A log can't reach u64::MAX events, and saturating avoids a panic path.
        Self(self.0.saturating_add(1))
    }

    /// The number of an optional position, 0 for `None`.
    pub fn number_or_zero(position: Option<Self>) -> u64 {
        position.map_or(0, Self::get)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl TryFrom<u64> for Position {
    type Error = Error;

    /// # Errors
    /// [`Error::Invalid`] with field `position` for 0.
    fn try_from(number: u64) -> Result<Self, Error> {
        let problem = Problem::TooSmall { min: 1, actual: 0 };
        Self::new(number).ok_or_else(|| invalid("position")(problem))
    }
}

impl From<Position> for u64 {
    fn from(position: Position) -> Self {
        position.get()
    }
}

impl FromStr for Position {
    type Err = Error;

    /// # Errors
    /// [`Error::Invalid`] with field `position` unless the text is a whole number from 1.
    fn from_str(text: &str) -> Result<Self, Error> {
        let problem = |_| Problem::malformed("expected a whole number from 1");
        let number = text.parse().map(Self).map_err(problem);
        number.map_err(invalid("position"))
    }
}
