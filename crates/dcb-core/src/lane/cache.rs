//! The lanes of a store: those on which a decision is under way, and those that rest.
//!
//! A lane that the last member has left rests: it keeps what it knows, so that the next decision on
//! its boundary reads nothing. The lanes that rest are bounded in bytes; the one that was used least
//! recently is dropped first. A lane with members is never dropped for its size. If [`Cache::forget`]
//! drops it, its members go on in it, and later callers get another one; the condition of each append
//! keeps both correct.
//!
//! Lock order: the cache, then a lane.

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store_meter::Share;

use super::line::Ticket;
use super::{Lane, Lanes, StateOutcome};
use crate::{Metrics, Reads, Stats};

#[derive(Default)]
pub(super) struct Cache {
    pub(super) max_bytes: usize,
    pub(super) counts: Arc<Counts>,
    metrics: Metrics,
    kept: Mutex<Kept>,
}

/// The counts of all caches of a log: that of the store, and those of the stores that wrap it.
#[derive(Default)]
pub(super) struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    bytes: AtomicU64,
    states_loaded: AtomicU64,
    states_stored: AtomicU64,
    states_discarded: AtomicU64,
    states_failed: AtomicU64,
    /// How many times the log was emptied.
    forgotten: AtomicU64,
}

#[derive(Default)]
struct Kept {
    lanes: HashMap<Arc<Reads>, Listed>,
    /// The lanes that rest, by the number of their last use.
    resting: BTreeMap<u64, Arc<Reads>>,
    uses: u64,
    /// The size of the lanes that rest.
    bytes: usize,
    /// How many times the log was emptied, when the cache looked last.
    forgotten: u64,
    meter: Share,
}

struct Listed {
    lane: Arc<Lane>,
    /// `None` while the lane has members.
    rest: Option<Rest>,
}

/// A lane without members.
#[derive(Clone, Copy)]
struct Rest {
    /// The number of its last use.
    used: u64,
    bytes: usize,
}

impl Cache {
    pub(super) fn new(max_bytes: usize, counts: Arc<Counts>, metrics: Metrics) -> Self {
        let kept = Kept {
            meter: metrics.lane_bytes(),
            ..Kept::default()
        };
        Self {
            max_bytes,
            counts,
            metrics,
            kept: Mutex::new(kept),
        }
    }

    /// The number of lanes that have members.
    pub(super) fn busy(&self) -> usize {
        let kept = self.lock();
        kept.lanes.len() - kept.resting.len()
    }

    /// The boundary's lane, with a place in its line.
    pub(super) fn enter(
        &self,
        reads: &Reads,
        new: impl FnOnce() -> Arc<Lane>,
    ) -> (Arc<Lane>, Ticket) {
        let mut kept = self.lock();
        self.forget_if_emptied(&mut kept);
        let listed = kept.lanes.get_mut(reads);
        let listed = listed.map(|listed| (Arc::clone(&listed.lane), listed.rest.take()));
        let lane = match listed {
            Some((lane, rest)) => {
                if let Some(rest) = rest {
                    kept.resting.remove(&rest.used);
                    self.resize(&mut kept, 0, rest.bytes);
                }
                lane
            }
            None => {
                let lane = new();
                let listed = Listed {
                    lane: Arc::clone(&lane),
                    rest: None,
                };
                kept.lanes.insert(Arc::clone(&lane.reads), listed);
                lane
            }
        };
        // Before the lock is released: a lane without members could be dropped.
        let ticket = lane.state().enter();
        (lane, ticket)
    }

    /// Keeps the lane, which has no members, for later callers; or drops it, if it knows nothing or is
    /// too large.
    pub(super) fn rest(&self, lane: &Lane) {
        let mut dropped = Vec::new();
        let mut guard = self.lock();
        let kept = &mut *guard;
        // Another lane of the boundary may be listed.
        let listed = kept.lanes.get_mut(&lane.reads);
        let Some(listed) = listed.filter(|listed| listed.rest.is_none() && listed.is(lane)) else {
            return;
        };
        let mut state = lane.state();
        if !state.is_idle() {
            return;
        }
        let bytes = state.rest().map(|bytes| bytes + lane.size_bytes);
        drop(state);
        let Some(fits) = bytes.filter(|bytes| *bytes <= self.max_bytes) else {
            dropped.extend(kept.lanes.remove(&lane.reads));
            if bytes.is_some() {
                self.count_eviction();
            }
            return;
        };
        kept.uses += 1;
        let used = kept.uses;
        listed.rest = Some(Rest { used, bytes: fits });
        kept.resting.insert(used, Arc::clone(&lane.reads));
        self.resize(kept, fits, 0);
        while kept.bytes > self.max_bytes
            && let Some((_, reads)) = kept.resting.pop_first()
        {
            let evicted = kept.lanes.remove(&reads);
            let rest = evicted.as_ref().and_then(|evicted| evicted.rest);
            self.resize(kept, 0, rest.map_or(0, |rest| rest.bytes));
            self.count_eviction();
            dropped.extend(evicted);
        }
        // Frees the lanes after the lock is released.
        drop(guard);
    }

    /// Drops what all lanes of the log know.
    pub(super) fn forget(&self) {
        self.counts.forgotten.fetch_add(1, Ordering::AcqRel);
        self.forget_if_emptied(&mut self.lock());
    }

    fn forget_if_emptied(&self, kept: &mut Kept) {
        let forgotten = self.counts.forgotten.load(Ordering::Acquire);
        if kept.forgotten != forgotten {
            kept.forgotten = forgotten;
            kept.lanes.clear();
            kept.resting.clear();
            let bytes = kept.bytes;
            self.resize(kept, 0, bytes);
        }
    }

    /// A decision has begun its turn; `is_hit` says whether it needs no read.
    pub(super) fn count_turn(&self, is_hit: bool) {
        let count = match is_hit {
            true => &self.counts.hits,
            false => &self.counts.misses,
        };
        // Relaxed: the counters are independent and guard no other memory.
        count.fetch_add(1, Ordering::Relaxed);
        self.metrics.turn_began(is_hit);
    }

    fn count_eviction(&self) {
        self.counts.evictions.fetch_add(1, Ordering::Relaxed);
        self.metrics.lane_evicted();
    }

    /// Counts a use of a state in the database.
    pub(super) fn count_state(&self, outcome: StateOutcome) {
        let count = match outcome {
            StateOutcome::Loaded => &self.counts.states_loaded,
            StateOutcome::Stored => &self.counts.states_stored,
            StateOutcome::Discarded => &self.counts.states_discarded,
            StateOutcome::Failed => &self.counts.states_failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.metrics.state_ended(outcome);
    }

    pub(super) fn add_to(&self, stats: Stats) -> Stats {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Stats {
            lane_hits: count(&self.counts.hits),
            lane_misses: count(&self.counts.misses),
            lane_evictions: count(&self.counts.evictions),
            lane_bytes: count(&self.counts.bytes),
            states_loaded: count(&self.counts.states_loaded),
            states_stored: count(&self.counts.states_stored),
            states_discarded: count(&self.counts.states_discarded),
            states_failed: count(&self.counts.states_failed),
            ..stats
        }
    }

    fn resize(&self, kept: &mut Kept, added: usize, removed: usize) {
        kept.bytes = kept.bytes + added - removed;
        kept.meter.set(|| kept.bytes as u64);
        let bytes = &self.counts.bytes;
        bytes.fetch_add(added as u64, Ordering::Relaxed);
        bytes.fetch_sub(removed as u64, Ordering::Relaxed);
    }

    /// Ignores poisoning: no code under the lock can unwind half-way through a change.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let bytes = self.lock().bytes;
        self.resize(&mut self.lock(), 0, bytes);
    }
}

impl Listed {
    fn is(&self, lane: &Lane) -> bool {
        std::ptr::eq(&raw const *self.lane, lane)
    }
}

impl Lane {
    /// The size of a lane that knows no event: itself, its places in the cache, and its boundary, which
    /// it has twice.
    pub(super) fn size_without_events(reads: &Reads) -> usize {
        /// The share of the maps and of the allocator.
        const OVERHEAD: usize = 400;
        size_of::<Self>() + size_of::<Reads>() + OVERHEAD + 2 * reads.heap_bytes()
    }
}

impl Lanes {
    /// The default size of the lanes that rest: 64 MiB.
    pub const DEFAULT_CACHE_BYTES: usize = 64 << 20;
}
