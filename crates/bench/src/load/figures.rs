use serde::{Deserialize, Serialize};

/// The average cost of a call, beside its time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CallCost {
    /// Reads of the database.
    pub reads: f64,
    /// Commits of the database. Calls that share a commit have a part of it each.
    pub commits: f64,
    /// Allocations in this process, counted during the warm-up of the last turn. The harness makes some of them.
    pub allocations: f64,
}

/// The figures of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// The schedule in words.
    pub schedule: String,
    /// The time from the end of the warm-up to the last answer, in seconds. For users, at least the
    /// length of the ramp.
    pub elapsed_s: f64,
    /// All calls.
    pub calls: u64,
    /// Calls that did their work.
    pub successes: u64,
    /// Calls that were refused as expected.
    pub refused: u64,
    /// All other calls: no answer, a wrong status or a wrong answer.
    pub failed: u64,
    /// The error of the first failed call.
    pub first_failure: Option<String>,
    /// The rate of an open schedule, or the rate that the pauses of users would allow if answers
    /// took no time. `None` if only the service limits the rate.
    pub allowed_per_second: Option<f64>,
    /// Time of a call from the moment it was made.
    pub service: Latencies,
    /// Time of a call from the moment it was due; only for open schedules.
    pub from_intended: Option<Latencies>,
    /// `None` if the service does not count the work of its database.
    #[serde(default)]
    pub cost: Option<CallCost>,
}

impl LoadFigures {
    /// Calls per elapsed second.
    pub fn calls_per_second(&self) -> f64 {
        self.calls as f64 / self.elapsed_s
    }

    /// Share of the calls with the expected outcome: success, or an expected refusal.
    pub fn success_rate(&self) -> f64 {
        (self.successes + self.refused) as f64 / self.calls.max(1) as f64
    }

    /// The latency for goals: from the intended start if calls have one.
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
    /// The 99.9th percentile; 0 in runs that were saved before this was recorded.
    #[serde(default)]
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}
