use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Metrics, Stats};

/// The store's counters, without those of the queues.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) metrics: Metrics,
    commits: AtomicU64,
    writes: AtomicU64,
    messages_written: AtomicU64,
    conflicts: AtomicU64,
    reads: AtomicU64,
    messages_read: AtomicU64,
}

/// The counters of one batch, kept apart until it is committed.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) writes: u64,
    pub(super) messages: u64,
    pub(super) conflicts: u64,
}

impl Counters {
    /// Counters of a store with these metrics.
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Adds a committed batch.
    pub(super) fn committed(&self, tally: &Tally) {
        // Relaxed, here and below: no other memory depends on the order of the counters.
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(tally.writes, Ordering::Relaxed);
        self.messages_written
            .fetch_add(tally.messages, Ordering::Relaxed);
        self.conflicts.fetch_add(tally.conflicts, Ordering::Relaxed);
        self.metrics.store().committed(tally.messages);
    }

    /// Adds a read.
    pub(super) fn read(&self, messages: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.messages_read
            .fetch_add(messages as u64, Ordering::Relaxed);
    }

    /// The current values. The caller adds those of the queues.
    pub(super) fn stats(&self) -> Stats {
        Stats {
            commits: self.commits.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            messages_written: self.messages_written.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
            messages_read: self.messages_read.load(Ordering::Relaxed),
            ..Stats::default()
        }
    }
}
