use serde::{Deserialize, Serialize};

/// What a load came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// Who called when, in words.
    pub schedule: String,
    /// From the first call that counts to the answer of the last, in seconds.
    pub elapsed_s: f64,
    /// Calls that were made, whatever came of them.
    pub calls: u64,
    /// Those that did their work.
    pub successes: u64,
    /// Those that were refused as they had to be.
    pub refused: u64,
    /// All others: no answer, another status, or an answer that says something wrong.
    pub failed: u64,
    /// What the first of them said.
    pub first_failure: Option<String>,
    /// The rate that an open schedule asks for, or that the pauses of users allow if answers took no
    /// time; none where only the service bounds it.
    pub allowed_per_second: Option<f64>,
    /// Time of a call, from when it was made.
    pub service: Latencies,
    /// Time of a call, from when it was due; only of open schedules.
    pub from_intended: Option<Latencies>,
}

impl LoadFigures {
    /// Calls per elapsed second.
    pub fn calls_per_second(&self) -> f64 {
        self.calls as f64 / self.elapsed_s
    }

    /// Share of the calls that came to what they had to come to: work done, or refused as foreseen.
    pub fn success_rate(&self) -> f64 {
        (self.successes + self.refused) as f64 / self.calls.max(1) as f64
    }

    /// The latency that counts: from the intended start where calls have one.
    pub fn latency(&self) -> &Latencies {
        self.from_intended.as_ref().unwrap_or(&self.service)
    }
}

/// A distribution of times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}
