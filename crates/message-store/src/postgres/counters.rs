use std::sync::atomic::{AtomicU64, Ordering};

use super::request::Verdict;
use crate::{Error, Metrics, Stats};

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
    lost_connections: AtomicU64,
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
    pub(super) fn committed(&self, verdicts: &[Verdict]) {
        // Relaxed, here and below: no other memory depends on the order of the counters.
        self.commits.fetch_add(1, Ordering::Relaxed);
        let mut stored = 0;
        for verdict in verdicts {
            match verdict {
                Verdict::Done(Ok(written)) => {
                    self.writes.fetch_add(1, Ordering::Relaxed);
                    let messages = written.len() as u64;
                    stored += messages;
                }
                Verdict::Done(Err(Error::WrongExpectedVersion { .. })) => {
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                }
                // Nothing was stored: the request is submitted again, or its ids are already
                // stored.
                _ => {}
            }
        }
        self.messages_written.fetch_add(stored, Ordering::Relaxed);
        self.metrics.store().committed(stored);
    }

    pub(super) fn read(&self, messages: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.messages_read
            .fetch_add(messages as u64, Ordering::Relaxed);
    }

    pub(super) fn lost_connection(&self) {
        self.lost_connections.fetch_add(1, Ordering::Relaxed);
        self.metrics.store().lost_writer();
    }

    /// The current values, together with those of the queues.
    pub(super) fn stats(&self, queues: [group_commit::Stats; 2]) -> Stats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let largest = queues.iter().map(|queue| queue.largest_batch).max();
        Stats {
            commits: load(&self.commits),
            writes: load(&self.writes),
            messages_written: load(&self.messages_written),
            conflicts: load(&self.conflicts),
            reads: load(&self.reads),
            messages_read: load(&self.messages_read),
            lost_connections: load(&self.lost_connections),
            largest_batch: largest.unwrap_or_default() as u64,
            queued_writes: queues.iter().map(|queue| queue.queued as u64).sum(),
            listener: None,
        }
    }
}
