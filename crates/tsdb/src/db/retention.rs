use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::delete::Deleted;
use super::{Db, Inner};
use crate::shard::SHARDS;
use crate::sync::{AtomicI64, Ordering};

/// When too many bytes are in use, a sixteenth more than the excess is freed, so that it need not
/// be done again at once.
const HEADROOM: usize = 16;

/// How old a sample may be.
pub(super) struct Clock {
    age_ms: Option<u64>,
    /// The oldest timestamp that is kept, as of the last look at the system's clock.
    oldest_ms: AtomicI64,
    /// `oldest_ms` when older samples were deleted last.
    swept_ms: AtomicI64,
}

impl Clock {
    pub(super) fn new(age_ms: Option<u64>) -> Self {
        let clock = Self {
            age_ms,
            oldest_ms: AtomicI64::new(i64::MIN),
            swept_ms: AtomicI64::new(i64::MIN),
        };
        clock.swept_ms.store(clock.oldest_ms(), Ordering::Relaxed);
        clock
    }

    /// The oldest timestamp that is kept now.
    pub(super) fn oldest_ms(&self) -> i64 {
        let Some(age_ms) = self.age_ms else {
            return i64::MIN;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.unwrap_or(Duration::ZERO).as_millis() as i64;
        let oldest_ms = now_ms.saturating_sub_unsigned(age_ms);
        self.oldest_ms.store(oldest_ms, Ordering::Relaxed);
        oldest_ms
    }

    /// The oldest timestamp that was kept when somebody last looked: no more than a few writes ago.
    #[inline]
    pub(super) fn recent_oldest_ms(&self) -> i64 {
        self.oldest_ms.load(Ordering::Relaxed)
    }

    /// Whether enough time has passed that a sweep is worth it: a 64th of the age.
    fn is_due(&self, oldest_ms: i64) -> bool {
        let swept_ms = self.swept_ms.load(Ordering::Relaxed);
        self.age_ms
            .is_some_and(|age_ms| oldest_ms.abs_diff(swept_ms) > age_ms / 64)
    }
}

impl Db {
    /// Deletes what has outlived [`Retention`](crate::Retention), now.
    ///
    /// Writes do this by themselves when they need memory; call it from time to time if writes may
    /// cease and memory should still be freed. Visits every series.
    pub fn enforce_retention(&self) -> Deleted {
        let inner = &*self.inner;
        let mut deleted = Deleted::default();
        if inner.options.retention.age_ms.is_some() {
            inner.sweep_age(&mut deleted);
        }
        if let Some(max) = inner.options.retention.bytes {
            inner.sweep_bytes(max, &mut deleted);
        }
        deleted
    }
}

impl Inner {
    /// What a write does that took memory, when it holds no lock any more.
    pub(super) fn retain(&self) {
        let mut deleted = Deleted::default();
        if self.options.retention.age_ms.is_some() && self.clock.is_due(self.clock.oldest_ms()) {
            self.sweep_age(&mut deleted);
        }
        if let Some(max) = self.options.retention.bytes {
            self.sweep_bytes(max, &mut deleted);
        }
    }

    fn sweep_age(&self, deleted: &mut Deleted) {
        let oldest_ms = self.clock.oldest_ms();
        self.clock.swept_ms.store(oldest_ms, Ordering::Relaxed);
        self.prune(|newest_ms, _| newest_ms < oldest_ms, deleted);
    }

    fn sweep_bytes(&self, max: usize, deleted: &mut Deleted) {
        if self.usage.stats().sample_bytes <= max {
            return;
        }
        let mut parts = self.parts();
        // Now that no sample waits, it may be less.
        let used = self.usage.stats().sample_bytes;
        if used <= max {
            return;
        }
        let wanted = used - (max - max / HEADROOM);
        parts.sort_unstable_by_key(|(newest_ms, _)| *newest_ms);
        let mut freed = 0;
        let last = parts.iter().find(|(_, size)| {
            freed += size;
            freed >= wanted
        });
        let Some(&(last_ms, _)) = last.or(parts.last()) else {
            return;
        };
        let older = parts.iter().take_while(|(newest, _)| *newest < last_ms);
        // Series that are sampled together have many parts of one age: no more go than must.
        let mut wanted = wanted.saturating_sub(older.map(|(_, size)| size).sum());
        let dead = |newest_ms: i64, size: usize| {
            if newest_ms == last_ms && wanted > 0 {
                wanted = wanted.saturating_sub(size);
                return true;
            }
            newest_ms < last_ms
        };
        self.prune(dead, deleted);
    }

    /// The newest timestamp and the size of whatever can be dropped as a whole. Samples that waited
    /// are in their places afterwards.
    fn parts(&self) -> Vec<(i64, usize)> {
        let mut parts = Vec::new();
        for place in 0..SHARDS {
            let shard = self.lock(place);
            for cell in shard.series() {
                let mut data = cell.data.lock();
                let before = data.size_bytes();
                data.settle();
                self.usage.resize(before, data.size_bytes());
                parts.extend(data.parts());
            }
        }
        parts
    }

    /// Drops the first blocks and heads of each series, as long as they are `dead` by the newest
    /// timestamp and the size.
    fn prune(&self, mut dead: impl FnMut(i64, usize) -> bool, deleted: &mut Deleted) {
        for place in 0..SHARDS {
            let mut shard = self.lock(place);
            let all: Vec<_> = shard.series().cloned().collect();
            for cell in all {
                let mut data = cell.data.lock();
                let before = data.size_bytes();
                deleted.samples += data.prune(&mut dead);
                self.usage.resize(before, data.size_bytes());
                if data.is_empty() {
                    deleted.series += 1;
                    self.end(&mut shard, &cell, &mut data);
                }
            }
        }
    }
}
