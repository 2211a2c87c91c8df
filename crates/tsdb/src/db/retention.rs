//! Deletes samples by age and by memory in use.
//!
//! The log records the end of a series, but not the other samples that retention deletes. After a
//! restart the engine deletes those again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::delete::Deleted;
use super::{Db, Inner, Stats};
use crate::data::SeriesData;
use crate::key::SHARDS;
use crate::sync::{AtomicI64, Ordering};

/// When too many bytes are in use, retention frees a sixteenth of the limit more than it must, so
/// that the next write does not trigger it again.
const HEADROOM: usize = 16;

/// The part of the limit on bytes that metadata may take: a quarter.
const METADATA: usize = 4;

/// Turns the maximum age into the oldest timestamp kept.
pub(super) struct Clock {
    age_ms: Option<u64>,
    /// The oldest timestamp kept, as of the last reading of the system clock.
    oldest_ms: AtomicI64,
    /// The value of `oldest_ms` at the last sweep.
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

    /// Reads the system clock and returns the oldest timestamp kept.
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

    /// Returns the last result of [`oldest_ms`](Self::oldest_ms), without a system call. A write
    /// that allocates memory reads the clock again, so the result is at most some writes old.
    #[inline]
    pub(super) fn recent_oldest_ms(&self) -> i64 {
        self.oldest_ms.load(Ordering::Relaxed)
    }

    /// Returns `true` if a sweep is worthwhile: a 64th of the maximum age has passed since the
    /// last.
    fn is_due(&self, oldest_ms: i64) -> bool {
        let swept_ms = self.swept_ms.load(Ordering::Relaxed);
        self.age_ms
            .is_some_and(|age_ms| oldest_ms.abs_diff(swept_ms) > age_ms / 64)
    }
}

impl Db {
    /// Deletes the samples that have outlived [`Retention`](crate::Retention).
    ///
    /// Writes trigger this when they allocate memory. Call it periodically if writes may stop while
    /// memory should still be freed. It visits every series.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Retention, Sample};
    ///
    /// let retention = Retention { age_ms: None, bytes: Some(64 << 20) };
    /// let db = Db::new(DbOptions { retention, ..DbOptions::default() });
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    ///
    /// // 64 MiB are not in use yet.
    /// assert_eq!(db.enforce_retention().samples, 0);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn enforce_retention(&self) -> Deleted {
        let inner = &*self.inner;
        let mut deleted = Deleted::default();
        if inner.options.retention.age_ms.is_some() {
            inner.sweep_age(&mut deleted);
        }
        if let Some(max) = inner.options.retention.bytes {
            inner.sweep_bytes(max, &mut deleted);
        }
        inner.meters.evicted(&deleted);
        deleted
    }
}

impl Inner {
    /// Enforces retention after a write that allocated memory. Call it without holding a lock.
    pub(super) fn retain(&self) {
        let mut deleted = Deleted::default();
        if self.options.retention.age_ms.is_some() && self.clock.is_due(self.clock.oldest_ms()) {
            self.sweep_age(&mut deleted);
        }
        if let Some(max) = self.options.retention.bytes {
            self.sweep_bytes(max, &mut deleted);
        }
        self.meters.evicted(&deleted);
    }

    fn sweep_age(&self, deleted: &mut Deleted) {
        let oldest_ms = self.clock.oldest_ms();
        // Store this before the sweep, so that concurrent writers don't start one too.
        self.clock.swept_ms.store(oldest_ms, Ordering::Relaxed);
        self.prune(0, |newest_ms, _| newest_ms < oldest_ms, deleted);
    }

    fn sweep_bytes(&self, max: usize, deleted: &mut Deleted) {
        if self.usage.stats().total_bytes() <= max {
            return;
        }
        let before = deleted.series;
        self.free_metadata(max / METADATA);
        // One round is usually enough. It plans with an average of what the end of a series frees,
        // so it may free less than planned.
        while self.free_oldest(max, deleted) {}
        if deleted.series > before {
            self.free_metadata(max / METADATA);
        }
    }

    /// If more bytes than `max` are in use, deletes the oldest samples. Returns `true` if it has
    /// deleted some.
    fn free_oldest(&self, max: usize, deleted: &mut Deleted) -> bool {
        if self.usage.stats().total_bytes() <= max {
            return false;
        }
        // What the end of each series frees beside its samples.
        let Stats {
            series,
            index_bytes,
            ..
        } = self.usage.stats();
        let ending = index_bytes / series.max(1);
        let mut parts = self.parts(ending);
        // `parts` has merged pending late samples, which may have freed enough.
        let used = self.usage.stats().total_bytes();
        if used <= max {
            return false;
        }
        let wanted = used - (max - max / HEADROOM);
        parts.sort_unstable_by_key(|(newest_ms, _)| *newest_ms);
        let mut freed = 0;
        let last = parts.iter().find(|(_, size)| {
            freed += size;
            freed >= wanted
        });
        // If all parts together free too little, drop all of them.
        let Some(&(last_ms, _)) = last.or(parts.last()) else {
            return false;
        };
        let older = parts.iter().take_while(|(newest, _)| *newest < last_ms);
        // Series sampled together have many parts with the same newest timestamp. Free only as many
        // of those as needed.
        let mut wanted = wanted.saturating_sub(older.map(|(_, size)| size).sum());
        let dead = |newest_ms: i64, size: usize| {
            if newest_ms == last_ms && wanted > 0 {
                wanted = wanted.saturating_sub(size);
                return true;
            }
            newest_ms < last_ms
        };
        let before = deleted.samples;
        self.prune(ending, dead, deleted);
        deleted.samples > before
    }

    /// Returns the newest timestamp and the size of each block, open block and head. Merges pending
    /// late samples first. `ending` is as in [`SeriesData::parts`].
    fn parts(&self, ending: usize) -> Vec<(i64, usize)> {
        let mut parts = Vec::new();
        for index in 0..SHARDS {
            let shard = self.lock_shard(index);
            for cell in shard.series() {
                let mut data = cell.data.lock();
                self.usage.change(&mut data, SeriesData::merge_late);
                parts.extend(data.parts(ending));
            }
        }
        parts
    }

    /// Drops the oldest blocks and heads of each series, up to the first one for which `dead`
    /// returns `false`. `dead` receives the newest timestamp and the size. `ending` is as in
    /// [`SeriesData::parts`].
    fn prune(
        &self,
        ending: usize,
        mut dead: impl FnMut(i64, usize) -> bool,
        deleted: &mut Deleted,
    ) {
        let before = deleted.series;
        for index in 0..SHARDS {
            let mut shard = self.lock_shard(index);
            // Copy the list, because ending a series changes the shard's table.
            let all: Vec<_> = shard.series().cloned().collect();
            for cell in all {
                let mut data = cell.data.lock();
                let pruned = self
                    .usage
                    .change(&mut data, |data| data.prune(ending, &mut dead));
                deleted.samples += pruned;
                if data.is_empty() {
                    deleted.series += 1;
                    self.end(&mut shard, &cell, &mut data);
                }
            }
        }
        if deleted.series > before {
            self.forget_aliases();
        }
    }

    /// Frees the series that aliases keep in memory after their end.
    #[cfg_attr(
        not(feature = "wire"),
        expect(clippy::unused_self, reason = "only the feature has aliases")
    )]
    pub(super) fn forget_aliases(&self) {
        // Those still in use come back with the next messages.
        #[cfg(feature = "wire")]
        std::mem::take(&mut *self.aliases.write());
    }
}
