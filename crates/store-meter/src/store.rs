use store_fault::Fault;

use crate::{Counter, FollowerMeter, Gauge, Histogram, PoolMeter, QueueMeter, Scope, Share};

/// How a call that writes has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The records are stored, now or by an earlier call with the same ids.
    Committed,
    /// The store has changed since the caller read it.
    Conflict,
    /// Another check of the store refused the call.
    Refused,
    /// The time of the call ended first, also in the wait for a lock.
    Timeout,
    /// The database could not be reached.
    Unavailable,
    /// The records may or may not be stored.
    Unknown,
    /// Any other error.
    Failed,
}

impl Outcome {
    /// The values of the label `outcome`, in the order of the variants.
    const LABELS: [&'static str; 7] = [
        "committed",
        "conflict",
        "refused",
        "timeout",
        "unavailable",
        "unknown",
        "failed",
    ];
}

/// How a call has ended that failed with this fault.
impl From<&Fault> for Outcome {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::TimedOut { .. } | Fault::Locked(_) => Self::Timeout,
            Fault::Unreachable(_) => Self::Unavailable,
            _ => Self::Failed,
        }
    }
}

/// The names and help texts of a store's metrics that have the store's words in them.
#[derive(Clone, Copy, Debug)]
pub struct StoreNames {
    /// The counter of calls that ended, by outcome.
    pub ended: (&'static str, &'static str),
    /// The gauge of calls that wait for their outcome.
    pub waiting: (&'static str, &'static str),
    /// The counter of records that were stored.
    pub records: (&'static str, &'static str),
    /// The histogram of the records of a commit.
    pub commit_records: (&'static str, &'static str),
    /// The help text of `writer_connections_lost_total`.
    pub lost_writers: &'static str,
}

/// The metrics that every store has: of its writes, its commits, its reads and its followers.
#[derive(Clone, Debug, Default)]
pub struct StoreMeter {
    waiting: Gauge,
    ended: [Counter; Outcome::LABELS.len()],
    records: Counter,
    commit_records: Histogram,
    queue: QueueMeter,
    reads: PoolMeter,
    followers: FollowerMeter,
    lost_writers: Counter,
}

impl StoreMeter {
    /// The handles of these names, and those of [`QueueMeter`], [`PoolMeter`] and [`FollowerMeter`].
    pub fn new(scope: &Scope, names: StoreNames) -> Self {
        let counter = |scope: &Scope, (name, help)| scope.counter(name, help);
        Self {
            waiting: scope.gauge(names.waiting.0, names.waiting.1),
            ended: Outcome::LABELS
                .map(|outcome| counter(&scope.with("outcome", outcome), names.ended)),
            records: counter(scope, names.records),
            commit_records: scope.sizes(names.commit_records.0, names.commit_records.1),
            queue: QueueMeter::new(scope),
            reads: PoolMeter::new(scope),
            followers: FollowerMeter::new(scope),
            lost_writers: scope.counter("writer_connections_lost_total", names.lost_writers),
        }
    }

    /// A call that writes begins. Keep the share until it ends.
    #[inline]
    pub fn begins(&self) -> Share {
        self.waiting.one()
    }

    /// A call that writes has ended.
    #[inline]
    pub fn ended(&self, outcome: Outcome) {
        self.ended[outcome as usize].add(1);
    }

    /// A commit has stored this many records.
    #[inline]
    pub fn committed(&self, records: u64) {
        self.records.add(records);
        self.commit_records.record(|| records as usize);
    }

    /// The connection of a writer was lost during a commit.
    pub fn lost_writer(&self) {
        self.lost_writers.add(1);
    }

    /// The commit queue.
    pub fn queue(&self) -> &QueueMeter {
        &self.queue
    }

    /// The read connections.
    pub fn reads(&self) -> &PoolMeter {
        &self.reads
    }

    /// The subscriptions and runners.
    pub fn followers(&self) -> &FollowerMeter {
        &self.followers
    }
}
