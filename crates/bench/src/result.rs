//! The results of rows, as they are saved with a run and rendered into pages.

use crate::load::LoadFigures;
use crate::row::Declared;
use serde::{Deserialize, Serialize};

/// A statistic and its 95 % bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The value over all samples.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A row and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// See [`Declared::id`].
    pub id: String,
    /// Its declaration.
    pub declared: Declared,
    /// Worker threads of the runtime. Blocking rows ignore it and have one thread per caller.
    pub workers: usize,
    /// Its result.
    pub measured: Measured,
}

impl RowResult {
    /// The figures of a measured row.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.measured {
            Measured::Figures(figures) => Some(figures),
            Measured::Load(_) | Measured::Not { .. } => None,
        }
    }

    /// True if the row fills the table.
    pub(crate) fn fills(&self, table: &str) -> bool {
        self.declared.fills.iter().any(|filled| filled == table)
    }

    /// The figures of a load.
    pub fn load(&self) -> Option<&LoadFigures> {
        match &self.measured {
            Measured::Load(figures) => Some(figures),
            Measured::Figures(_) | Measured::Not { .. } => None,
        }
    }

    /// Calls per elapsed second.
    pub(crate) fn calls_per_second(&self) -> Option<f64> {
        match &self.measured {
            Measured::Figures(figures) => Some(figures.calls_per_second),
            Measured::Load(load) => Some(load.calls_per_second()),
            Measured::Not { .. } => None,
        }
    }

    /// Events per elapsed second, written or read by the calls.
    pub(crate) fn events_per_second(&self) -> Option<f64> {
        Some(self.calls_per_second()? * self.declared.events as f64)
    }

    /// The median time of a call.
    pub(crate) fn p50_ns(&self) -> Option<u64> {
        match &self.measured {
            Measured::Figures(figures) => Some(figures.p50_ns),
            Measured::Load(load) => Some(load.latency().p50_ns),
            Measured::Not { .. } => None,
        }
    }
}

/// Figures, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The row was measured.
    Figures(Box<Figures>),
    /// The row is a load, and was run.
    Load(Box<LoadFigures>),
    /// The row cannot be measured on this machine.
    Not {
        /// The reason, in words.
        reason: String,
    },
}

/// The figures of a row. An op is a barrier op: one call by each caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time of one op.
    pub mean_ns: Interval,
    /// Calls per elapsed second: callers × ops.
    pub calls_per_second: f64,
    /// Median time of a call, from the first step of its task to the answer.
    pub p50_ns: u64,
    /// 99th percentile of the time of a call.
    pub p99_ns: u64,
    /// 1 if every call was timed. Otherwise `p50_ns` and `p99_ns` are percentiles of means over
    /// this many ops.
    pub ops_per_latency: u64,
    /// Share of the calls that succeeded.
    pub success_rate: f64,
    /// Share of the calls that were refused as expected.
    pub refused_rate: f64,
    /// Bytes that this process allocated per op.
    pub bytes_per_op: f64,
    /// Allocations of this process per op.
    pub allocations_per_op: f64,
    /// Maximum memory in use during an op, relative to its start.
    pub peak_bytes: i64,
    /// The floors of the row.
    pub floors: Vec<FloorFigures>,
    /// The samples in the order they were taken.
    pub samples: Vec<SampleFigures>,
}

impl Figures {
    /// Barrier ops per second.
    pub fn ops_per_second(&self) -> f64 {
        1e9 / self.mean_ns.value
    }

    /// The floor with this name.
    pub fn floor(&self, name: &str) -> Option<&FloorFigures> {
        self.floors.iter().find(|floor| floor.name == name)
    }
}

/// The figures of a floor next to one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FloorFigures {
    /// Its name.
    pub name: String,
    /// One op of it, in words.
    pub what: String,
    /// Its callers.
    pub concurrency: usize,
    /// Time of one op of it.
    pub mean_ns: Interval,
    /// Median time of a call; 0 in runs that were saved before this was recorded.
    #[serde(default)]
    pub p50_ns: u64,
    /// 99th percentile of the time of a call; 0 as above.
    #[serde(default)]
    pub p99_ns: u64,
    /// The ratio of the row's time to the floor's: the median over samples.
    pub ratio: Interval,
    /// Bytes that this process allocated per op of it.
    pub bytes_per_op: f64,
    /// Allocations of this process per op of it.
    pub allocations_per_op: f64,
}

/// One sample of the timing pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SampleFigures {
    /// Ops in it.
    pub ops: u64,
    /// Their mean time.
    pub ns_per_op: f64,
}
