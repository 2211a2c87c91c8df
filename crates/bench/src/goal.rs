use crate::floor::Floor;
use crate::row::Row;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A figure that a row should reach. The page computes the verdict when it is rendered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The bound of the figure.
    pub bound: Bound,
    /// A figure of a comparable system, for the reader.
    pub peer: Option<String>,
}

/// The bound of a [`Goal`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// The time of one op is at most this factor times the floor's.
    TimesFloor {
        /// The floor's name.
        floor: String,
        /// The factor.
        at_most: f64,
    },
    /// The rate in ops is at least this share of the floor's.
    ShareOfFloor {
        /// The floor's name.
        floor: String,
        /// The share.
        at_least: f64,
    },
    /// An op makes at most this many allocations more than the floor.
    AllocationsAboveFloor {
        /// The floor's name.
        floor: String,
        /// The number of further allocations.
        at_most: f64,
    },
    /// The rate in calls per second is at least this.
    CallsPerSecond {
        /// The rate.
        at_least: f64,
    },
    /// The mean time of an op, in nanoseconds, is at most this.
    MeanNs {
        /// The time.
        at_most: f64,
    },
    /// The median time of a call, in nanoseconds, is at most this.
    P50Ns {
        /// The time.
        at_most: f64,
    },
    /// The 99th percentile of a call's time, in nanoseconds, is at most this.
    P99Ns {
        /// The time.
        at_most: f64,
    },
    /// The rate is at least this share of the rate that the schedule of a load allows.
    ShareOfAllowed {
        /// The share.
        at_least: f64,
    },
    /// At most this many calls of a load fail.
    FailedCalls {
        /// The number.
        at_most: u64,
    },
    /// During an op, the memory in use rises by at most this many bytes.
    PeakBytes {
        /// The size.
        at_most: f64,
    },
    /// The rate in events per second is at least this share of another row's, in the same run.
    ShareOfRow {
        /// The id of the other row.
        row: String,
        /// The share.
        at_least: f64,
    },
    /// The median time of a call is at most this factor times another row's, in the same run.
    TimesRow {
        /// The id of the other row.
        row: String,
        /// The factor.
        at_most: f64,
    },
    /// A call of a load reads the database at most this often.
    ReadsPerCall {
        /// The number of reads.
        at_most: f64,
    },
}

impl Bound {
    /// The id of the row that this row is compared with.
    pub(crate) fn other_row(&self) -> Option<&str> {
        match self {
            Self::ShareOfRow { row, .. } | Self::TimesRow { row, .. } => Some(row),
            _ => None,
        }
    }
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

    /// [`Bound::FailedCalls`] with 0.
    pub fn no_failed_call() -> Self {
        Self::new(Bound::FailedCalls { at_most: 0 })
    }

    /// [`Bound::PeakBytes`].
    pub fn peak_bytes(at_most: f64) -> Self {
        Self::new(Bound::PeakBytes { at_most })
    }

    /// [`Bound::ShareOfRow`].
    pub fn share_of_row(row: &Row, at_least: f64) -> Self {
        let row = row.id();
        Self::new(Bound::ShareOfRow { row, at_least })
    }

    /// [`Bound::TimesRow`].
    pub fn at_most_times_row(row: &Row, at_most: f64) -> Self {
        let row = row.id();
        Self::new(Bound::TimesRow { row, at_most })
    }

    /// [`Bound::ReadsPerCall`].
    pub fn reads_per_call(at_most: f64) -> Self {
        Self::new(Bound::ReadsPerCall { at_most })
    }

    /// A figure of a comparable system, printed next to the goal.
    #[must_use]
    pub fn peer(mut self, text: impl Into<String>) -> Self {
        self.peer = Some(text.into());
        self
    }
}
