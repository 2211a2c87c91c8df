use super::Db;
use super::new_series::NewSeries;
use crate::data::SeriesData;
use crate::meters::UsageMeters;
use crate::series_cell::SeriesCell;
use crate::sync::{AtomicUsize, Ordering};
use crate::{Error, Labels, Limits, heap};

/// The content of a [`Db`] in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of series.
    pub series: usize,
    /// The bytes of all samples, compressed or not.
    pub sample_bytes: usize,
    /// The bytes of labels and index; an estimate.
    pub index_bytes: usize,
    /// The bytes of the metadata of metrics; an estimate.
    pub metadata_bytes: usize,
    /// The number of samples that [`DuplicatePolicy::LastWins`] has replaced, or
    /// [`DuplicatePolicy::FirstWins`] has dropped, since the database was opened. A late sample
    /// counts when it is merged, which the next read of its series does.
    ///
    /// [`DuplicatePolicy::LastWins`]: crate::DuplicatePolicy::LastWins
    /// [`DuplicatePolicy::FirstWins`]: crate::DuplicatePolicy::FirstWins
    pub repeated_samples: usize,
    /// The number of automatic snapshots that failed since the database was opened. A failed
    /// snapshot loses no data: the log stays, longer than intended, and the engine retries later.
    pub failed_snapshots: usize,
}

impl Stats {
    /// The sum of all bytes, which [`Limits::bytes`] and
    /// [`Retention::bytes`](crate::Retention::bytes) limit.
    pub fn total_bytes(&self) -> usize {
        self.sample_bytes + self.index_bytes + self.metadata_bytes
    }
}

/// The counters behind [`Stats`], updated by all writers. They are independent of each other, and
/// guard nothing, so relaxed ordering is enough.
pub(super) struct Usage {
    new_series: NewSeries,
    series: AtomicUsize,
    sample_bytes: AtomicUsize,
    index_bytes: AtomicUsize,
    metadata_bytes: AtomicUsize,
    repeated_samples: AtomicUsize,
    failed_snapshots: AtomicUsize,
    meters: UsageMeters,
}

impl Usage {
    pub(super) fn new(meters: UsageMeters) -> Self {
        Self {
            new_series: NewSeries::default(),
            series: AtomicUsize::default(),
            sample_bytes: AtomicUsize::default(),
            index_bytes: AtomicUsize::default(),
            metadata_bytes: AtomicUsize::default(),
            repeated_samples: AtomicUsize::default(),
            failed_snapshots: AtomicUsize::default(),
            meters,
        }
    }

    pub(super) fn snapshot_failed(&self) {
        self.failed_snapshots.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a new series, or refuses it at a limit.
    pub(super) fn begin(&self, labels: &Labels, limits: &Limits) -> Result<(), Error> {
        self.check_room(1, limits)?;
        if let Some(limit) = limits.new_series {
            self.new_series.count(limit)?;
        }
        // Add first, then check: two writers must not both take the last place.
        let before = self.series.fetch_add(1, Ordering::Relaxed);
        if let Some(max) = limits.series
            && before >= max
        {
            self.series.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::TooManySeries { max });
        }
        self.meters.series.add(1);
        self.index_grew(series_bytes(labels));
        Ok(())
    }

    /// Counts the bytes that the index has grown by.
    pub(super) fn index_grew(&self, bytes: usize) {
        self.index_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.meters.index_bytes.add(bytes as u64);
    }

    /// Counts the end of a series, and the bytes that the index has shrunk by.
    pub(super) fn end(&self, labels: &Labels, index_bytes: usize) {
        self.series.fetch_sub(1, Ordering::Relaxed);
        let bytes = series_bytes(labels) + index_bytes;
        self.index_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.meters.series.add(1_u64.wrapping_neg());
        self.meters.index_bytes.add((bytes as u64).wrapping_neg());
    }

    /// Changes the samples of a locked series. Counts the bytes and the repeated samples.
    #[inline]
    pub(super) fn change<T>(
        &self,
        data: &mut SeriesData,
        change: impl FnOnce(&mut SeriesData) -> T,
    ) -> T {
        let before = data.size_bytes();
        let result = change(data);
        let after = data.size_bytes();
        if before != after {
            // Let the sum wrap, so that one addition serves both growth and shrinkage.
            let change = after.wrapping_sub(before);
            self.sample_bytes.fetch_add(change, Ordering::Relaxed);
            self.meters.sample_bytes.add(wrapping(change));
        }
        let repeated = data.take_repeated();
        if repeated > 0 {
            self.repeated_samples.fetch_add(repeated, Ordering::Relaxed);
            self.meters.repeated.add(repeated as u64);
        }
        result
    }

    /// Counts a change of the bytes of a metric's metadata.
    pub(super) fn resize_metadata(&self, before: usize, after: usize) {
        let change = after.wrapping_sub(before);
        self.metadata_bytes.fetch_add(change, Ordering::Relaxed);
        self.meters.metadata_bytes.add(wrapping(change));
    }

    /// Refuses an allocation of `bytes` beyond the limit. Callers pass 1 if they don't know the
    /// size yet, so the limit can be exceeded by one allocation per writer.
    pub(super) fn check_room(&self, bytes: usize, limits: &Limits) -> Result<(), Error> {
        let Some(max) = limits.bytes else {
            return Ok(());
        };
        match self.stats().total_bytes() {
            used if used.saturating_add(bytes) > max => Err(Error::MemoryFull { max, used }),
            _ => Ok(()),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            series: self.series.load(Ordering::Relaxed),
            sample_bytes: self.sample_bytes.load(Ordering::Relaxed),
            index_bytes: self.index_bytes.load(Ordering::Relaxed),
            metadata_bytes: self.metadata_bytes.load(Ordering::Relaxed),
            repeated_samples: self.repeated_samples.load(Ordering::Relaxed),
            failed_snapshots: self.failed_snapshots.load(Ordering::Relaxed),
        }
    }
}

/// Estimates the bytes of a series without its samples and its entries in the index.
fn series_bytes(labels: &Labels) -> usize {
    SeriesCell::BYTES + heap::labels_bytes(labels)
}

/// A difference of two sizes, negative ones as `wrapping_sub` returns them, with the width of a share.
fn wrapping(change: usize) -> u64 {
    change.cast_signed() as i64 as u64
}

impl Db {
    /// Returns the current number of series and bytes.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// let stats = db.stats();
    /// assert_eq!(stats.series, 1);
    /// println!("{} bytes in use", stats.total_bytes());
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn stats(&self) -> Stats {
        self.inner.usage.stats()
    }
}
