use std::sync::atomic::{AtomicU64, Ordering};

/// What the store counts while it works.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) appends: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) reads: AtomicU64,
}

impl Counters {
    /// Counts a batch that was committed.
    pub(super) fn committed(&self, appends: u64, events: u64, conflicts: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.appends.fetch_add(appends, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.conflicts.fetch_add(conflicts, Ordering::Relaxed);
    }

    pub(super) fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a store has done since it was opened, for a host to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that committed a batch of appends.
    pub commits: u64,
    /// Appends that were committed.
    pub appends: u64,
    /// Events of these appends.
    pub events: u64,
    /// Appends that were refused because of their condition.
    pub conflicts: u64,
    /// Transactions that read: one for each page of a stream.
    pub reads: u64,
    /// The most appends that one commit took.
    pub largest_batch: usize,
    /// Appends that wait now.
    pub queued_appends: usize,
    /// Projections that run now.
    pub running_projections: usize,
    /// Read connections that are open now.
    pub read_connections: usize,
}
