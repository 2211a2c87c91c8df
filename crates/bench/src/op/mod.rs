//! An operation to measure: its set-up, the steps before each op, and the call.

mod asynchronous;
mod blocking;
mod callers;

use crate::alloc::{Allocated, AllocationScope};
use crate::error::BoxError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use asynchronous::AsyncOp;
pub use blocking::BlockingOp;

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Start = dyn Fn(Shape) -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> + Send + Sync;

/// The number of a call within its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The number of the op, from 0. The warm-up, the timing pass and the allocation pass share one
    /// count, so ids built from this number never repeat.
    pub op: u64,
    /// The caller within this op, counted from 0.
    pub worker: usize,
    /// The number of callers of an op.
    pub concurrency: usize,
}

impl Call {
    /// A number that no other call of this row has.
    pub fn index(self) -> u64 {
        self.op * self.concurrency as u64 + self.worker as u64
    }
}

/// The outcome of a call. Anything else is an error, which ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The operation did its work.
    Success,
    /// The operation was refused as the row expects, by a conflict or a limit.
    Refused,
}

/// The expected outcomes of the calls of every op. Any other outcome ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Every call succeeds.
    AllSucceed,
    /// Every call is refused.
    AllRefused,
    /// Exactly this many calls of an op succeed; the others are refused.
    Winners(u64),
    /// Any mixture is fine. The rates are reported.
    Any,
}

impl Expect {
    pub(crate) fn check(self, successes: u64, calls: u64) -> Result<(), BoxError> {
        let expected = match self {
            Self::AllSucceed => calls,
            Self::AllRefused => 0,
            Self::Winners(winners) => winners,
            Self::Any => return Ok(()),
        };
        if successes == expected {
            return Ok(());
        }
        Err(format!("{successes} of {calls} calls succeeded, expected {expected}").into())
    }
}

/// An operation that rows and floors measure. Cheap to clone. Each row runs the operation's set-up
/// before the first sample, and drops the resulting state after the last one.
#[derive(Clone)]
pub struct Op {
    start: Arc<Start>,
    blocking: bool,
}

impl Op {
    /// Begins an asynchronous operation with its set-up. At concurrency C, one op is one call by
    /// each of C tasks. The tasks are spawned beforehand and wait. The op begins when they are
    /// released together, and ends when the last call returns. At concurrency 1 no task is spawned.
    pub fn setup<S, F, Fut>(setup: F) -> AsyncOp<S>
    where
        S: Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        AsyncOp::new(setup)
    }

    /// The same as [`setup`](Self::setup). The set-up gets a clone of `given`.
    pub fn given<T, S, F, Fut>(given: &T, setup: F) -> AsyncOp<S>
    where
        T: Clone + Send + Sync + 'static,
        S: Send + Sync + 'static,
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        let given = given.clone();
        AsyncOp::new(move || setup(given.clone()))
    }

    /// Begins a blocking operation with its set-up. It runs outside any async runtime, at
    /// concurrency C on C threads.
    pub fn blocking<S, F>(setup: F) -> BlockingOp<S>
    where
        S: Send + Sync + 'static,
        F: Fn() -> Result<S, BoxError> + Send + Sync + 'static,
    {
        BlockingOp::new(setup)
    }

    pub(crate) fn is_blocking(&self) -> bool {
        self.blocking
    }

    pub(crate) fn start(
        &self,
        shape: Shape,
    ) -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> {
        (self.start)(shape)
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Op")
            .field("blocking", &self.blocking)
            .finish_non_exhaustive()
    }
}

/// The callers of an op, and their expected outcomes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) concurrency: usize,
    pub(crate) expect: Expect,
}

/// The quantity that a pass measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Timing,
    Allocations,
}

/// An operation after its set-up.
pub(crate) trait Running: Send {
    /// Runs `count` ops, the first with number `first`.
    fn run(
        &mut self,
        first: u64,
        count: u64,
        pass: Pass,
    ) -> BoxFuture<'_, Result<Observed, BoxError>>;

    /// True if several ops may be timed together, as one block. A single op can be too short for
    /// the clock.
    fn runs_in_blocks(&self) -> bool;
}

/// The measurements of a number of ops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    pub(crate) ops: u64,
    pub(crate) elapsed: Duration,
    /// One latency per call. If ops run in blocks, one latency per block: the mean over its ops.
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) successes: u64,
    pub(crate) refused: u64,
    pub(crate) allocated: Allocated,
}

impl Observed {
    pub(crate) fn add(&mut self, mut other: Self) {
        self.ops += other.ops;
        self.elapsed += other.elapsed;
        self.latencies_ns.append(&mut other.latencies_ns);
        self.successes += other.successes;
        self.refused += other.refused;
        self.allocated.add(other.allocated);
    }

    pub(crate) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Success => self.successes += 1,
            Outcome::Refused => self.refused += 1,
        }
    }

    pub(crate) fn ns_per_op(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.ops.max(1) as f64
    }
}

/// The clock or the allocation counter, depending on the pass.
enum Meter {
    Clock(Instant),
    Allocations(AllocationScope),
}

impl Meter {
    fn start(pass: Pass) -> Self {
        match pass {
            Pass::Timing => Self::Clock(Instant::now()),
            Pass::Allocations => Self::Allocations(AllocationScope::start()),
        }
    }

    fn finish(self, seen: &mut Observed) {
        match self {
            Self::Clock(begun) => seen.elapsed += begun.elapsed(),
            Self::Allocations(scope) => seen.allocated.add(scope.finish()),
        }
    }
}
