use std::fmt;

use crate::text::invalid;
use crate::{Error, Position, Problem};

/// The version that a stream must have for a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Any version.
    #[default]
    Any,
    /// The stream has no messages yet.
    NoStream,
    /// The stream's last message is at this position. A stream that was restored from a backup, and has
    /// grown to this position again, is not told from the one before; see the crate's README.
    Exact(Position),
}

impl ExpectedVersion {
    /// Expects the version that a read returned. The write fails if another message was written
    /// after that read.
    pub fn from_version(version: Option<Position>) -> Self {
        version.map_or(Self::NoStream, Self::Exact)
    }

    /// Converts from Message DB's form: `None` for any version, -1 for no stream.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `expected_version` if `number` is below -1.
    pub fn from_number(number: Option<i64>) -> Result<Self, Error> {
        match number {
            None => Ok(Self::Any),
            Some(-1) => Ok(Self::NoStream),
            Some(number) => match u64::try_from(number) {
                Ok(number) => Ok(Self::Exact(Position::new(number))),
                Err(_) => Err(invalid("expected_version")(Problem::TooSmall {
                    min: -1,
                    actual: number,
                })),
            },
        }
    }

    /// Converts to Message DB's form: `None` for any version, -1 for no stream.
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Any => None,
            Self::NoStream => Some(-1),
            Self::Exact(position) => Some(Position::number_or_minus_one(Some(position))),
        }
    }

    /// Whether a write to a stream of this version may proceed.
    pub fn allows(self, version: Option<Position>) -> bool {
        match self {
            Self::Any => true,
            Self::NoStream => version.is_none(),
            Self::Exact(position) => version == Some(position),
        }
    }
}

impl fmt::Display for ExpectedVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number() {
            None => formatter.write_str("any"),
            Some(number) => number.fmt(formatter),
        }
    }
}
