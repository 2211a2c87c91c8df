//! What is known of a row after it was measured; saved with the run, rendered into pages.

use crate::load::LoadFigures;
use crate::row::{Declared, TableId};
use serde::{Deserialize, Serialize};

/// A statistic and its 95 % bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Of all samples.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A row and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// See [`Declared::id`].
    pub id: String,
    /// What was declared of it.
    pub declared: Declared,
    /// Threads that the row's tasks ran on; blocking rows have a thread of their own a caller.
    pub workers: usize,
    /// What was measured.
    pub measured: Measured,
}

impl RowResult {
    /// The figures, where there are any.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.measured {
            Measured::Figures(figures) => Some(figures),
            Measured::Load(_) | Measured::Not { .. } => None,
        }
    }

    /// Whether the row is one of a table's.
    pub(crate) fn fills(&self, table: TableId) -> bool {
        self.declared.fills.iter().any(|filled| filled == table.0)
    }

    /// The figures of a load, where it is one.
    pub fn load(&self) -> Option<&LoadFigures> {
        match &self.measured {
            Measured::Load(figures) => Some(figures),
            Measured::Figures(_) | Measured::Not { .. } => None,
        }
    }
}

/// Figures, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// The row was measured.
    Figures(Box<Figures>),
    /// The row is a load, and was run.
    Load(Box<LoadFigures>),
    /// The target says that the row can't be had here.
    Not {
        /// Why, in words.
        reason: String,
    },
}

/// The figures of a row. An op is one barrier op: as many calls as there are callers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time of one op.
    pub mean_ns: Interval,
    /// Calls per elapsed second: callers × ops.
    pub calls_per_second: f64,
    /// Median time of a call, from the task's first step to its answer.
    pub p50_ns: u64,
    /// 99th percentile of the same.
    pub p99_ns: u64,
    /// 1 where every call was timed; more where `p50_ns` and `p99_ns` are of means over so many.
    pub ops_per_latency: u64,
    /// Share of the calls that succeeded.
    pub success_rate: f64,
    /// Share of the calls that were refused as foreseen.
    pub refused_rate: f64,
    /// Bytes that this process allocated for one op.
    pub bytes_per_op: f64,
    /// Allocations of this process for one op.
    pub allocations_per_op: f64,
    /// Highest memory in use during an op above that before it.
    pub peak_bytes: i64,
    /// The floors measured between the row's ops.
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

/// A floor as measured between the ops of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FloorFigures {
    /// Its name.
    pub name: String,
    /// What one op of it is.
    pub what: String,
    /// Its callers.
    pub concurrency: usize,
    /// Time of one op of it.
    pub mean_ns: Interval,
    /// Median over the samples of the row's time through the floor's.
    pub ratio: Interval,
    /// Bytes that this process allocated for one op of it.
    pub bytes_per_op: f64,
    /// Allocations of this process for one op of it.
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
