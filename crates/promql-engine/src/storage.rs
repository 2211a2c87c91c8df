use crate::{Labels, Matcher, QueryError};

/// The error of a storage, of any type.
pub type StorageError = Box<dyn std::error::Error + Send + Sync>;

/// Takes the next samples of a series: timestamps in ms, ascending, and as many values. If it fails,
/// stop and return its error.
pub type Visit<'v> = &'v mut dyn FnMut(&[i64], &[f64]) -> Result<(), QueryError>;

/// Series that queries can read.
pub trait Storage: Sync {
    /// Selects the series that fulfil all matchers, for reading their samples from `from_ms` to
    /// `to_ms`, both inclusive. A query calls it once for each selector. It may select series without
    /// a sample in that time.
    ///
    /// # Errors
    /// Any error ends the query with [`QueryError::Storage`].
    fn select(
        &self,
        matchers: &[Matcher],
        from_ms: i64,
        to_ms: i64,
    ) -> Result<Box<dyn Selected + '_>, StorageError>;
}

/// The series that a selector found, in any order. Several threads read different series at once.
pub trait Selected: Sync {
    /// The number of series.
    fn count(&self) -> usize;

    /// The labels of a series. `index` is less than [`count`](Self::count).
    fn labels(&self, index: usize) -> &Labels;

    /// Passes the samples of a series in the selected time to `visit`, in ascending order of time: all
    /// at once, or block by block. A stale marker ends the series.
    ///
    /// # Errors
    /// The error of `visit`, or [`QueryError::Storage`].
    fn read(&self, index: usize, visit: Visit<'_>) -> Result<(), QueryError>;
}
