use std::sync::atomic::{AtomicU64, Ordering};

use crate::Metrics;

/// Counters behind [`Stats`](crate::Stats).
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) metrics: Metrics,
    pub(super) commits: AtomicU64,
    pub(super) appends: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) reads: AtomicU64,
}

impl Counters {
    /// Counters of a store with these metrics.
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Counts a committed batch.
    pub(super) fn committed(&self, appends: u64, events: u64, conflicts: u64) {
        // Relaxed: the counters are independent and guard no other memory.
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.appends.fetch_add(appends, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.metrics.store().committed(events);
        self.conflicts.fetch_add(conflicts, Ordering::Relaxed);
    }

    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}
