use crate::Error;
use crate::text::{check, invalid};

/// A position in an upstream source, stored in the same commit as the events that it caused.
///
/// Positions must strictly increase per source, so a consumer that restarts can't process the same
/// upstream position twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking {
    source: String,
    position: u64,
}

impl Tracking {
    /// The maximum length of a source name, in characters.
    pub const MAX_CHARS: usize = 255;

    /// Creates the tracking of `position` in `source`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `tracking.source`, or with field `tracking.position` if the
    /// position does not fit into 63 bits.
    pub fn new(source: impl Into<String>, position: u64) -> Result<Self, Error> {
        let source = source.into();
        check(&source, Self::MAX_CHARS).map_err(invalid("tracking.source"))?;
        // SQL backends store the position in a signed 64-bit column.
        if i64::try_from(position).is_err() {
            let problem = crate::Problem::TooLarge {
                max: i64::MAX as u64,
                actual: position,
            };
            return Err(invalid("tracking.position")(problem));
        }
        Ok(Self { source, position })
    }

    /// The name of the upstream source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The position in the upstream source.
    pub fn position(&self) -> u64 {
        self.position
    }
}
