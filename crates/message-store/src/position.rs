use std::fmt;
use std::str::FromStr;

use crate::text::invalid;
use crate::{Error, Problem};

/// A message's position in its stream: 0, 1, 2 … without gaps. Retention may have deleted the first
/// messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Position(u64);

/// A message's position among all messages of the store, from 1. There may be gaps.
///
/// Within a stream or a category, global positions increase in commit order. A read of all messages
/// stops before the first position that an open transaction may still fill, so no message appears
/// at a position that a reader has already passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
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
    /// The first global position in a store.
    pub const START: Self = Self(1);

    /// The position with this number. 0 comes before every message.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one. A reader that has handled this position continues there.
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

/// The conversions of a position.
macro_rules! conversions {
    ($position:ident, $field:literal) => {
        impl From<u64> for $position {
            fn from(number: u64) -> Self {
                Self::new(number)
            }
        }

        impl From<$position> for u64 {
            fn from(position: $position) -> Self {
                position.get()
            }
        }

        impl FromStr for $position {
            type Err = Error;

            /// # Errors
            /// [`Error::Invalid`] unless the text is a whole number.
            fn from_str(text: &str) -> Result<Self, Error> {
                let number = text
                    .parse()
                    .map_err(|_| Problem::malformed("expected a whole number"));
                number.map(Self).map_err(invalid($field))
            }
        }

        impl fmt::Display for $position {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

conversions!(Position, "position");
conversions!(GlobalPosition, "global_position");
