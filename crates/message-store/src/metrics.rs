//! The metrics of a store, recorded through the `metrics` facade. README.md lists the names.
//!
//! Without the feature `metrics`, all of this is empty; see the crate `store-meter`.

#![cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "only a backend records writes and reads")
)]

use store_meter::{Counter, Gauge, Histogram, PoolMeter, QueueMeter, Scope, Share, Shared};

use crate::{Error, Fault};

/// The handles of a store on the `metrics` facade, without content unless the feature `metrics` is on.
/// Cheap to clone.
///
/// A store makes them when it is opened, with the recorder that is installed then. A store that wraps
/// another forwards [`MessageStore::metrics`](crate::MessageStore::metrics), so that its
/// subscriptions are recorded.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    handles: Shared<Handles>,
}

#[derive(Clone, Debug, Default)]
struct Handles {
    writes: Writes,
    messages: Counter,
    commit_messages: Histogram,
    queue: QueueMeter,
    reads: PoolMeter,
    lost_writers: Counter,
    followers: Gauge,
    lag: Gauge,
    waits: Counter,
}

/// Writes under way, and those that ended, by outcome.
#[derive(Clone, Debug, Default)]
struct Writes {
    waiting: Gauge,
    committed: Counter,
    conflict: Counter,
    refused: Counter,
    timeout: Counter,
    unavailable: Counter,
    unknown: Counter,
    failed: Counter,
}

impl Metrics {
    /// A subscription begins. Keep the share until it ends.
    pub(crate) fn follows(&self) -> Share {
        self.handles.followers.one()
    }

    /// The lag of a subscription that begins.
    pub(crate) fn lag(&self) -> Share {
        self.handles.lag.share()
    }

    /// A subscription waits for new messages.
    pub(crate) fn follower_waits(&self) {
        self.handles.waits.add(1);
    }

    /// The handles of a store, or of all namespaces of a database or folder, on this backend.
    pub(crate) fn new(backend: &'static str) -> Self {
        let enabled = cfg!(feature = "metrics");
        let scope = Scope::new(enabled, "message_store", &[("backend", backend)]);
        Self {
            handles: Shared::new(Handles::new(&scope)),
        }
    }

    /// A write begins. Keep the share until it ends.
    #[inline]
    pub(crate) fn write_begins(&self) -> Share {
        self.handles.writes.waiting.one()
    }

    /// A write has ended.
    #[inline]
    pub(crate) fn write_ended<T>(&self, result: &Result<T, Error>) {
        if cfg!(feature = "metrics") {
            self.handles.writes.ended(result).add(1);
        }
    }

    /// A commit has stored this many messages.
    #[inline]
    pub(crate) fn committed(&self, messages: u64) {
        self.handles.messages.add(messages);
        self.handles.commit_messages.record(|| messages as usize);
    }

    pub(crate) fn queue(&self) -> &QueueMeter {
        &self.handles.queue
    }

    pub(crate) fn reads(&self) -> &PoolMeter {
        &self.handles.reads
    }

    #[cfg_attr(
        all(feature = "sqlite", not(feature = "postgres")),
        expect(dead_code, reason = "only a server's connections get lost")
    )]
    pub(crate) fn lost_writer(&self) {
        self.handles.lost_writers.add(1);
    }
}

impl Handles {
    fn new(scope: &Scope) -> Self {
        Self {
            writes: Writes::new(scope),
            messages: scope.counter("messages_written_total", "Messages of committed writes"),
            commit_messages: scope.sizes("commit_messages", "Messages of a commit"),
            queue: QueueMeter::new(scope),
            reads: PoolMeter::new(scope),
            lost_writers: scope.counter(
                "writer_connections_lost_total",
                "Connections for writes that were lost during a commit",
            ),
            followers: scope.gauge("followers", "Subscriptions and runs of `MessageRunner`"),
            lag: scope.gauge(
                "follower_lag_positions",
                "Positions that followers have still to read or to handle, when they last looked; the sum of all",
            ),
            waits: scope.counter(
                "follower_waits_total",
                "Times that a follower had read everything and waited for more",
            ),
        }
    }
}

impl Writes {
    fn new(scope: &Scope) -> Self {
        let ended = |outcome| {
            let help = "Writes that ended, by outcome; one that the limits refuse is not counted";
            scope.with("outcome", outcome).counter("writes_total", help)
        };
        Self {
            waiting: scope.gauge("writes_waiting", "Writes that wait for their outcome"),
            committed: ended("committed"),
            conflict: ended("conflict"),
            refused: ended("refused"),
            timeout: ended("timeout"),
            unavailable: ended("unavailable"),
            unknown: ended("unknown"),
            failed: ended("failed"),
        }
    }

    /// The counter of this result.
    fn ended<T>(&self, result: &Result<T, Error>) -> &Counter {
        match result {
            Ok(_) => &self.committed,
            Err(Error::WrongExpectedVersion { .. }) => &self.conflict,
            Err(Error::Invalid { .. } | Error::DuplicateId { .. }) => &self.refused,
            Err(Error::Fault(Fault::TimedOut { .. })) => &self.timeout,
            Err(Error::Fault(Fault::Unreachable(_))) => &self.unavailable,
            Err(Error::OutcomeUnknown { .. }) => &self.unknown,
            Err(_) => &self.failed,
        }
    }
}
