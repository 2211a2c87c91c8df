use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::request::{Request, Verdict};
use crate::Metrics;

/// The counters behind [`Stats`](crate::Stats).
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) metrics: Metrics,
    pub(super) commits: AtomicU64,
    pub(super) appends: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) lost_connections: AtomicU64,
}

impl Counters {
    /// Counters of a store with these metrics.
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Counts a batch that the server has answered.
    pub(super) fn committed(&self, batch: &[Arc<Request>], verdicts: &[Verdict]) {
        let (mut appends, mut events) = (0, 0);
        for (request, verdict) in batch.iter().zip(verdicts) {
            if let Verdict::Done(Ok(_)) = verdict {
                appends += 1;
                events += request.append.events.len() as u64;
            }
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.appends.fetch_add(appends, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.metrics.store().committed(events);
    }
}
