use std::time::Duration;

/// What an evaluation may cost, and how it reads a series between its samples.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// How far back an instant selector looks for a series' last sample. Default 5 minutes.
    pub lookback: Duration,
    /// The step of a sub-query that names none. Default 1 minute.
    pub subquery_step: Duration,
    /// The samples that a query may read and produce altogether, so the bound of its memory.
    /// Default 50,000,000.
    pub max_samples: u64,
    /// The steps that a range may have. Default 11,000.
    pub max_steps: usize,
    /// The time that an evaluation may take. Default 2 minutes.
    pub timeout: Duration,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            lookback: Duration::from_secs(5 * 60),
            subquery_step: Duration::from_secs(60),
            max_samples: 50_000_000,
            max_steps: 11_000,
            timeout: Duration::from_secs(120),
        }
    }
}
