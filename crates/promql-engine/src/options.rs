use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::Proceed;

/// Reading the number of cores takes longer than a small query.
static CORES: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));

/// The limits of an evaluation, and how far a selector looks back.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// How far back an instant selector looks for a series' last sample. Default 5 minutes.
    pub lookback: Duration,
    /// The step of a sub-query without a step. Default 1 minute.
    pub subquery_step: Duration,
    /// The maximum number of samples that a query reads and produces in total. It bounds the memory
    /// of the query. Default 50,000,000.
    pub max_samples: u64,
    /// The maximum number of steps of a range, its start included. Default 11,001.
    pub max_steps: usize,
    /// The maximum duration of an evaluation. Default 2 minutes.
    pub timeout: Duration,
    /// The maximum number of threads that read series and apply functions to their ranges. A query
    /// uses more than one only if its ranges keep each of them busy, and the answer does not depend
    /// on their number. Default: the number of cores.
    pub threads: usize,
    /// Asked now and then while the query runs. Default: every query runs to its end.
    pub proceed: Proceed,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            lookback: Duration::from_secs(5 * 60),
            subquery_step: Duration::from_secs(60),
            max_samples: 50_000_000,
            max_steps: 11_001,
            timeout: Duration::from_secs(120),
            threads: *CORES,
            proceed: Proceed::default(),
        }
    }
}
