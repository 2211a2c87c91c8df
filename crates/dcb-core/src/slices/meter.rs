//! Metrics of the members of a version in this process. README.md lists the names.

use store_meter::{Counter, Gauge, Share};

use crate::{Metrics, OnFailure};

/// The handles of one version.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    slices: Gauge,
    lag: Gauge,
    events: Counter,
    stopped: Counter,
    skipped: Counter,
    parked: Counter,
}

/// The share of a member in the gauges while it works.
pub(super) struct MemberShare {
    pub(super) slices: Share,
    pub(super) lag: Share,
}

impl Meter {
    pub(super) fn new(metrics: &Metrics, name: &str, version: u32) -> Self {
        let Some(scope) = metrics.projection(name, version) else {
            return Self::default();
        };
        let failed = |outcome| {
            let help = "Events whose handler failed at each try, by the way on";
            let scope = scope.with("outcome", outcome);
            scope.counter("projection_failures_total", help)
        };
        Self {
            slices: scope.gauge("projection_slices", "Slices that the members hold"),
            lag: scope.gauge(
                "projection_lag_positions",
                "Positions between the head and what the slices of the members have handled, the sum of all members",
            ),
            events: scope.counter(
                "projection_events_total",
                "Events that the members have passed, without those whose handler failed",
            ),
            stopped: failed("stopped"),
            skipped: failed("skipped"),
            parked: failed("parked"),
        }
    }

    /// A member begins to work.
    pub(super) fn member(&self) -> MemberShare {
        MemberShare {
            slices: self.slices.share(),
            lag: self.lag.share(),
        }
    }

    /// A transaction has handled events, or parked them behind others.
    pub(super) fn applied(&self, events: usize) {
        self.events.add(events as u64);
    }

    /// The handler has failed at each try of an event.
    pub(super) fn failed(&self, way_on: OnFailure) {
        match way_on {
            OnFailure::Stop => self.stopped.add(1),
            OnFailure::Skip => self.skipped.add(1),
            OnFailure::Park => self.parked.add(1),
        }
    }
}
