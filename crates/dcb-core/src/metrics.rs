//! The metrics of a store, recorded through the `metrics` facade. README.md lists the names.
//!
//! Without the feature `metrics`, all of this is empty; see the crate `store-meter`.

use store_meter::{Counter, Gauge, Outcome, Scope, Share, Shared, StoreMeter, StoreNames};

use crate::lane::StateOutcome;
use crate::{Appended, Error};

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
    store: StoreMeter,
    decisions: Decisions,
    /// The values of the labels `backend` and `log`. `None` if nothing is recorded.
    labels: Option<(&'static str, String)>,
}

const NAMES: StoreNames = StoreNames {
    ended: (
        "appends_total",
        "Appends that ended, by outcome; one that the limits refuse is not counted",
    ),
    waiting: ("appends_waiting", "Appends that wait for their outcome"),
    records: ("events_appended_total", "Events of committed appends"),
    commit_records: ("commit_events", "Events of a commit"),
    lost_writers: "Connections for appends that were lost during a commit",
};

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
    states_loaded: Counter,
    states_stored: Counter,
    states_discarded: Counter,
    states_failed: Counter,
}

impl Metrics {
    /// The handles of a store on this backend, for the log of this name.
    pub(crate) fn new(backend: &'static str, log: &str) -> Self {
        let labels = [("backend", backend), ("log", log)];
        let scope = Scope::new(cfg!(feature = "metrics"), "dcb", &labels);
        Self {
            handles: Shared::new(Handles {
                store: StoreMeter::new(&scope, NAMES),
                decisions: Decisions::new(&scope),
                labels: cfg!(feature = "metrics").then(|| (backend, log.to_owned())),
            }),
        }
    }

    /// The scope of a version of a sliced projection that follows the store. `None` if nothing is
    /// recorded.
    pub(crate) fn projection(&self, name: &str, version: u32) -> Option<Scope> {
        let (backend, log) = self.handles.labels.as_ref()?;
        let version = version.to_string();
        let labels = [
            ("backend", *backend),
            ("log", log),
            ("projection", name),
            ("version", &version),
        ];
        Some(Scope::new(true, "dcb", &labels))
    }

    /// The metrics that every store has.
    #[inline]
    pub(crate) fn store(&self) -> &StoreMeter {
        &self.handles.store
    }

    /// An append has ended.
    #[inline]
    pub(crate) fn append_ended(&self, result: &Result<Appended, Error>) {
        self.handles.store.ended(outcome(result));
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

    /// Counts a use of a state in the database.
    pub(crate) fn state_ended(&self, outcome: StateOutcome) {
        let decisions = &self.handles.decisions;
        match outcome {
            StateOutcome::Loaded => decisions.states_loaded.add(1),
            StateOutcome::Stored => decisions.states_stored.add(1),
            StateOutcome::Discarded => decisions.states_discarded.add(1),
            StateOutcome::Failed => decisions.states_failed.add(1),
        }
    }
}

fn outcome(result: &Result<Appended, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Committed,
        Err(Error::Conflict { .. }) => Outcome::Conflict,
        Err(
            Error::Invalid { .. }
            | Error::DuplicateId { .. }
            | Error::PastReplaced { .. }
            | Error::AfterBeyondHead { .. }
            | Error::AlreadyTracked { .. },
        ) => Outcome::Refused,
        Err(Error::Fault(fault)) => fault.into(),
        Err(Error::OutcomeUnknown { .. }) => Outcome::Unknown,
        Err(_) => Outcome::Failed,
    }
}

impl Decisions {
    fn new(scope: &Scope) -> Self {
        let ended = |outcome| {
            let help = "Decisions that ended, by outcome; one that an error ends is not counted";
            let scope = scope.with("outcome", outcome);
            scope.counter("decisions_total", help)
        };
        let state = |outcome| {
            let help = "States in the database, by what became of them";
            let scope = scope.with("outcome", outcome);
            scope.counter("kept_states_total", help)
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
            states_loaded: state("loaded"),
            states_stored: state("stored"),
            states_discarded: state("discarded"),
            states_failed: state("failed"),
        }
    }
}
