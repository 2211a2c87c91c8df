use super::entry::Entry;
use crate::Sample;
use crate::journal::SeriesId;

/// Receives the entries of the files, in the order in which they were logged.
///
/// An error names the reason why an entry contradicts those before it.
pub(crate) trait Replay {
    /// Receives samples of a series, in order of arrival.
    fn samples(&mut self, id: SeriesId, samples: &[Sample]) -> Result<(), &'static str>;

    /// Receives an entry without samples.
    fn apply(&mut self, entry: Entry<'_>) -> Result<(), &'static str>;
}
