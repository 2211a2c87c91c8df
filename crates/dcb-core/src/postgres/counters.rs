use std::sync::atomic::{AtomicU64, Ordering};

use super::plan::{Answer, Plan};
use super::request::Request;

/// What the store counts while it works.
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

/// What a store has done since it was connected, for a host to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Round trips that committed a batch of appends.
    pub commits: u64,
    /// Appends that were committed; without those that were found to be stored after the answer
    /// was lost.
    pub appends: u64,
    /// Events of these appends.
    pub events: u64,
    /// Appends that were refused because of their condition.
    pub conflicts: u64,
    /// Round trips that read.
    pub reads: u64,
    /// How often the writer lost its connection while a batch was under way.
    pub lost_connections: u64,
    /// The most appends that one commit took.
    pub largest_batch: usize,
    /// Appends that wait now.
    pub queued_appends: usize,
    /// Projections that run now.
    pub running_projections: usize,
    /// Read connections that are open now.
    pub read_connections: u32,
}
