//! The metrics of a store, recorded through the `metrics` facade. README.md lists the names.
//!
//! Without the feature `metrics`, all of this is empty; see the crate `store-meter`.

use store_meter::{Counter, Gauge, Histogram, PoolMeter, QueueMeter, Scope, Share, Shared};

use crate::{Appended, Error, Fault};

/// The handles of a store on the `metrics` facade, without content unless the feature `metrics` is on.
/// Cheap to clone.
///
/// A store makes them when it is opened, with the recorder that is installed then. A store that wraps
/// another forwards [`EventStore::metrics`](crate::EventStore::metrics), so that its decisions and
/// followers are recorded.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    handles: Shared<Handles>,
}

#[derive(Clone, Debug, Default)]
struct Handles {
    appends: Appends,
    events: Counter,
    commit_events: Histogram,
    queue: QueueMeter,
    reads: PoolMeter,
    lost_writers: Counter,
    decisions: Decisions,
    followers: Followers,
}

/// Appends under way, and those that ended, by outcome.
#[derive(Clone, Debug, Default)]
struct Appends {
    waiting: Gauge,
    committed: Counter,
    conflict: Counter,
    refused: Counter,
    timeout: Counter,
    unavailable: Counter,
    unknown: Counter,
    failed: Counter,
}

#[derive(Clone, Debug, Default)]
struct Decisions {
    appended: Counter,
    unchanged: Counter,
    exhausted: Counter,
    retries: Counter,
    lane_members: Gauge,
    lane_hits: Counter,
    lane_misses: Counter,
    lane_evictions: Counter,
    lane_bytes: Gauge,
}

#[derive(Clone, Debug, Default)]
struct Followers {
    open: Gauge,
    lag: Gauge,
    waits: Counter,
    retries: Counter,
}

impl Metrics {
    /// The handles of a store on this backend, for the log of this name.
    pub(crate) fn new(backend: &'static str, log: &str) -> Self {
        let labels = [("backend", backend), ("log", log)];
        let scope = Scope::new(cfg!(feature = "metrics"), "dcb", &labels);
        Self {
            handles: Shared::new(Handles {
                appends: Appends::new(&scope),
                events: scope.counter("events_appended_total", "Events of committed appends"),
                commit_events: scope.sizes("commit_events", "Events of a commit"),
                queue: QueueMeter::new(&scope),
                reads: PoolMeter::new(&scope),
                lost_writers: scope.counter(
                    "writer_connections_lost_total",
                    "Connections for appends that were lost during a commit",
                ),
                decisions: Decisions::new(&scope),
                followers: Followers::new(&scope),
            }),
        }
    }

    /// An append begins. Keep the share until it ends.
    #[inline]
    pub(crate) fn append_begins(&self) -> Share {
        self.handles.appends.waiting.one()
    }

    /// An append has ended.
    #[inline]
    pub(crate) fn append_ended(&self, result: &Result<Appended, Error>) {
        if cfg!(feature = "metrics") {
            self.handles.appends.ended(result).add(1);
        }
    }

    /// A commit has stored this many events.
    #[inline]
    pub(crate) fn committed(&self, events: u64) {
        self.handles.events.add(events);
        self.handles.commit_events.record(|| events as usize);
    }

    #[cfg_attr(
        not(any(feature = "postgres", feature = "sqlite")),
        expect(dead_code, reason = "a store in memory has no queue")
    )]
    pub(crate) fn queue(&self) -> &QueueMeter {
        &self.handles.queue
    }

    pub(crate) fn reads(&self) -> &PoolMeter {
        &self.handles.reads
    }

    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only a server's connections get lost")
    )]
    pub(crate) fn lost_writer(&self) {
        self.handles.lost_writers.add(1);
    }

    /// A decision is valid. `appended` says whether it has events.
    pub(crate) fn decided(&self, appended: bool) {
        let decisions = &self.handles.decisions;
        match appended {
            true => decisions.appended.add(1),
            false => decisions.unchanged.add(1),
        }
    }

    /// A decision is made again.
    pub(crate) fn decides_again(&self) {
        self.handles.decisions.retries.add(1);
    }

    /// A decision has no attempts or no time left.
    pub(crate) fn gave_up(&self) {
        self.handles.decisions.exhausted.add(1);
    }

    /// A decision enters a lane. Keep the share until it leaves.
    pub(crate) fn enters_lane(&self) -> Share {
        self.handles.decisions.lane_members.one()
    }

    /// A decision begins its turn. `is_hit` says whether its lane knows the boundary.
    pub(crate) fn turn_began(&self, is_hit: bool) {
        let decisions = &self.handles.decisions;
        match is_hit {
            true => decisions.lane_hits.add(1),
            false => decisions.lane_misses.add(1),
        }
    }

    /// A lane at rest was dropped for its size.
    pub(crate) fn lane_evicted(&self) {
        self.handles.decisions.lane_evictions.add(1);
    }

    /// The size of the lanes at rest of one cache.
    pub(crate) fn lane_bytes(&self) -> Share {
        self.handles.decisions.lane_bytes.share()
    }

    /// A follower begins. Keep the share until it ends.
    pub(crate) fn follows(&self) -> Share {
        self.handles.followers.open.one()
    }

    /// The lag of a follower that begins.
    pub(crate) fn lag(&self) -> Share {
        self.handles.followers.lag.share()
    }

    /// A follower waits for new events.
    pub(crate) fn follower_waits(&self) {
        self.handles.followers.waits.add(1);
    }

    /// A follower tries again after a transient error.
    pub(crate) fn follower_retries(&self) {
        self.handles.followers.retries.add(1);
    }
}

impl Appends {
    fn new(scope: &Scope) -> Self {
        let ended = |outcome| {
            let help = "Appends that ended, by outcome; one that the limits refuse is not counted";
            scope
                .with("outcome", outcome)
                .counter("appends_total", help)
        };
        Self {
            waiting: scope.gauge("appends_waiting", "Appends that wait for their outcome"),
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
    fn ended(&self, result: &Result<Appended, Error>) -> &Counter {
        match result {
            Ok(_) => &self.committed,
            Err(Error::Conflict { .. }) => &self.conflict,
            Err(
                Error::Invalid { .. }
                | Error::DuplicateId { .. }
                | Error::PastReplaced { .. }
                | Error::AfterBeyondHead { .. }
                | Error::AlreadyTracked { .. },
            ) => &self.refused,
            Err(Error::Fault(Fault::TimedOut { .. })) => &self.timeout,
            Err(Error::Fault(Fault::Unreachable(_))) => &self.unavailable,
            Err(Error::OutcomeUnknown { .. }) => &self.unknown,
            Err(_) => &self.failed,
        }
    }
}

impl Decisions {
    fn new(scope: &Scope) -> Self {
        let ended = |outcome| {
            let help = "Decisions that ended, by outcome; one that an error ends is not counted";
            let scope = scope.with("outcome", outcome);
            scope.counter("decisions_total", help)
        };
        Self {
            appended: ended("appended"),
            unchanged: ended("unchanged"),
            exhausted: ended("exhausted"),
            retries: scope.counter(
                "decision_retries_total",
                "Attempts at a decision that were made again",
            ),
            lane_members: scope.gauge(
                "lane_members",
                "Decisions that are in a lane: they wait for their turn, decide, or wait for their commit",
            ),
            lane_hits: scope.counter(
                "lane_hits_total",
                "Decisions that read nothing of their boundary, because its lane knew it",
            ),
            lane_misses: scope.counter(
                "lane_misses_total",
                "Decisions that read their boundary, or what was new in it",
            ),
            lane_evictions: scope.counter(
                "lane_evictions_total",
                "Lanes at rest that were dropped because they were larger than the cache",
            ),
            lane_bytes: scope.gauge("lane_bytes", "Size of the lanes at rest"),
        }
    }
}

impl Followers {
    fn new(scope: &Scope) -> Self {
        Self {
            open: scope.gauge("followers", "Subscriptions and projection runners"),
            lag: scope.gauge(
                "follower_lag_positions",
                "Positions that followers have still to read, when they last looked; the sum of all",
            ),
            waits: scope.counter(
                "follower_waits_total",
                "Times that a follower had read the whole log and waited for more",
            ),
            retries: scope.counter(
                "follower_retries_total",
                "Times that a follower tried again after a transient error",
            ),
        }
    }
}
