use std::sync::atomic::{AtomicU64, Ordering};

/// Counters behind [`Stats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) appends: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) reads: AtomicU64,
}

impl Counters {
    /// Counts a committed batch.
    pub(super) fn committed(&self, appends: u64, events: u64, conflicts: u64) {
        // Relaxed: the counters are independent and guard no other memory.
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.appends.fetch_add(appends, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.conflicts.fetch_add(conflicts, Ordering::Relaxed);
    }

    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// Statistics of a store since it was opened, for export as metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Committed batches of appends.
    pub commits: u64,
    /// Committed appends.
    pub appends: u64,
    /// Committed events.
    pub events: u64,
    /// Appends refused because of their condition.
    pub conflicts: u64,
    /// Read transactions. Each page of a stream counts as one.
    pub reads: u64,
    /// The largest number of appends in one commit.
    pub largest_batch: usize,
    /// Appends in the queue now.
    pub queued_appends: usize,
    /// Projections running now.
    pub running_projections: usize,
    /// Read connections open now.
    pub read_connections: usize,
}
