use std::sync::atomic::{AtomicU64, Ordering};

use super::plan::{Answer, Plan};
use super::request::Request;

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) appends: AtomicU64,
    pub(super) events: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) lost_connections: AtomicU64,
}

impl Counters {
    /// Counts a batch that the server has answered.
    pub(super) fn committed(&self, batch: &[Request], plan: &Plan, answer: &Answer) {
        let accepted = batch
            .iter()
            .enumerate()
            .filter(|(index, _)| plan.is_sent(*index) && !answer.refusals.contains_key(index));
        let (mut appends, mut events) = (0, 0);
        for (_, request) in accepted {
            appends += 1;
            events += request.append.events.len() as u64;
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.appends.fetch_add(appends, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
    }
}

/// Counts of a store's work since it was connected, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Batches of appends that the server answered, even if it refused every append of the batch.
    pub commits: u64,
    /// Committed appends. If an append's answer was lost and the store then found the append in the
    /// log, it is not counted.
    pub appends: u64,
    /// Events of the committed appends.
    pub events: u64,
    /// Appends refused because of their condition.
    pub conflicts: u64,
    /// How often a read asked for a connection: at least once per statement, and again for a retry.
    pub reads: u64,
    /// How often the writer lost its connection during a batch.
    pub lost_connections: u64,
    /// Largest number of appends in one commit.
    pub largest_batch: usize,
    /// Appends in the queue now.
    pub queued_appends: usize,
    /// Projections running now.
    pub running_projections: usize,
    /// Read connections open now.
    pub read_connections: u32,
}
