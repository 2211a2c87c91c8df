use std::fmt;
use std::sync::Arc;

/// Decides, while a query runs, whether it goes on: a server ends a query whose client has left.
///
/// An evaluation asks on each of its threads, and never for each sample: after at most 262,144 samples
/// that it reads, produces or visits again.
#[derive(Clone)]
pub struct Proceed(Arc<dyn Fn() -> bool + Send + Sync>);

impl Proceed {
    /// Creates the decision. If `decide` returns `false`, the query fails with
    /// [`QueryError::Stopped`](crate::QueryError::Stopped).
    pub fn new(decide: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    pub(super) fn decide(&self) -> bool {
        (self.0)()
    }
}

impl Default for Proceed {
    /// Every query runs to its end.
    fn default() -> Self {
        Self::new(|| true)
    }
}

impl fmt::Debug for Proceed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proceed").finish_non_exhaustive()
    }
}
