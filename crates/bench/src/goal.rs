use crate::floor::Floor;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A figure that a row is to reach; whether it did is computed where the page is rendered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// What must hold.
    pub bound: Bound,
    /// What others reach, for the reader.
    pub peer: Option<String>,
}

/// The bound of a [`Goal`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// Time of the row at most so many times that of the floor, both of one op.
    TimesFloor {
        /// The floor's name.
        floor: String,
        /// The factor.
        at_most: f64,
    },
    /// Rate of the row at least this share of the floor's rate, both in ops.
    ShareOfFloor {
        /// The floor's name.
        floor: String,
        /// The share.
        at_least: f64,
    },
    /// Allocations of an op at most the floor's and so many more.
    AllocationsAboveFloor {
        /// The floor's name.
        floor: String,
        /// How many more.
        at_most: f64,
    },
    /// At least so many calls a second.
    CallsPerSecond {
        /// The rate.
        at_least: f64,
    },
    /// Mean time of an op at most this, in nanoseconds.
    MeanNs {
        /// The time.
        at_most: f64,
    },
    /// Median of a call's time at most this, in nanoseconds.
    P50Ns {
        /// The time.
        at_most: f64,
    },
    /// 99th percentile of a call's time at most this, in nanoseconds.
    P99Ns {
        /// The time.
        at_most: f64,
    },
    /// At least this share of the rate that the schedule of a load allows.
    ShareOfAllowed {
        /// The share.
        at_least: f64,
    },
    /// At most so many calls of a load that failed.
    FailedCalls {
        /// The number.
        at_most: u64,
    },
    /// Highest memory in use during an op above that before it, in bytes.
    PeakBytes {
        /// The size.
        at_most: f64,
    },
}

impl Goal {
    fn new(bound: Bound) -> Self {
        Self { bound, peer: None }
    }

    /// [`Bound::TimesFloor`].
    pub fn at_most_times(floor: &Floor, at_most: f64) -> Self {
        Self::new(Bound::TimesFloor {
            floor: floor.name.to_string(),
            at_most,
        })
    }

    /// [`Bound::ShareOfFloor`].
    pub fn share_of(floor: &Floor, at_least: f64) -> Self {
        Self::new(Bound::ShareOfFloor {
            floor: floor.name.to_string(),
            at_least,
        })
    }

    /// [`Bound::AllocationsAboveFloor`].
    pub fn allocations_above(floor: &Floor, at_most: f64) -> Self {
        Self::new(Bound::AllocationsAboveFloor {
            floor: floor.name.to_string(),
            at_most,
        })
    }

    /// [`Bound::CallsPerSecond`].
    pub fn calls_per_second(at_least: f64) -> Self {
        Self::new(Bound::CallsPerSecond { at_least })
    }

    /// [`Bound::MeanNs`].
    pub fn mean(at_most: Duration) -> Self {
        Self::new(Bound::MeanNs {
            at_most: at_most.as_nanos() as f64,
        })
    }

    /// [`Bound::P50Ns`].
    pub fn p50(at_most: Duration) -> Self {
        Self::new(Bound::P50Ns {
            at_most: at_most.as_nanos() as f64,
        })
    }

    /// [`Bound::P99Ns`].
    pub fn p99(at_most: Duration) -> Self {
        Self::new(Bound::P99Ns {
            at_most: at_most.as_nanos() as f64,
        })
    }

    /// [`Bound::ShareOfAllowed`].
    pub fn share_of_allowed(at_least: f64) -> Self {
        Self::new(Bound::ShareOfAllowed { at_least })
    }

    /// [`Bound::FailedCalls`] of none.
    pub fn no_failed_call() -> Self {
        Self::new(Bound::FailedCalls { at_most: 0 })
    }

    /// [`Bound::PeakBytes`].
    pub fn peak_bytes(at_most: f64) -> Self {
        Self::new(Bound::PeakBytes { at_most })
    }

    /// What others reach, printed beside the goal.
    #[must_use]
    pub fn peer(mut self, text: impl Into<String>) -> Self {
        self.peer = Some(text.into());
        self
    }
}
