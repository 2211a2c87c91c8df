use crate::Error;
use crate::text::{check, invalid};

/// The place in an upstream source that an append is the consequence of.
///
/// It is stored by the same commit as the events and must strictly increase per source, so that a
/// consumer that restarts can't process the same upstream position twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking {
    source: String,
    position: u64,
}

impl Tracking {
    /// The longest source name, in characters.
    pub const MAX_CHARS: usize = 255;

    /// The position `position` of `source`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `tracking.source` or `tracking.position` (it must fit 63 bits).
    pub fn new(source: impl Into<String>, position: u64) -> Result<Self, Error> {
        let source = source.into();
        check(&source, Self::MAX_CHARS).map_err(invalid("tracking.source"))?;
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
