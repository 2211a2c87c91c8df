/// The samples of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryStats {
    /// The samples that the query read from the database, each once per selector, regardless of the
    /// number of steps.
    pub samples_read: u64,
    /// The samples that it read or produced in total, which
    /// [`QueryOptions::max_samples`](super::QueryOptions::max_samples) limits.
    pub samples_held: u64,
}
