use super::Db;
use crate::index;
use crate::series_cell::SeriesCell;
use crate::sync::{AtomicUsize, Ordering};
use crate::{Error, Labels, Limits};

/// What a [`Db`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Series.
    pub series: usize,
    /// The bytes that samples occupy: blocks and heads.
    pub sample_bytes: usize,
    /// The bytes that labels and the index occupy; an estimate.
    pub index_bytes: usize,
    /// The bytes that the metadata of metrics occupies; an estimate.
    pub metadata_bytes: usize,
    /// Snapshots that the engine tried by itself and that failed, since it was opened. Nothing is
    /// lost by one: the log stays, longer than it was to be, and the next is tried later.
    pub failed_snapshots: usize,
}

impl Stats {
    /// All bytes that count for [`Limits::bytes`].
    pub fn total_bytes(&self) -> usize {
        self.sample_bytes + self.index_bytes + self.metadata_bytes
    }
}

/// [`Stats`], counted by all writers.
#[derive(Default)]
pub(super) struct Usage {
    series: AtomicUsize,
    sample_bytes: AtomicUsize,
    index_bytes: AtomicUsize,
    metadata_bytes: AtomicUsize,
    failed_snapshots: AtomicUsize,
}

impl Usage {
    pub(super) fn snapshot_failed(&self) {
        self.failed_snapshots.fetch_add(1, Ordering::Relaxed);
    }

    /// One series more, if there may be.
    pub(super) fn begin(&self, labels: &Labels, limits: &Limits) -> Result<(), Error> {
        self.check_room(1, limits)?;
        let before = self.series.fetch_add(1, Ordering::Relaxed);
        if let Some(max) = limits.series
            && before >= max
        {
            self.series.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::TooManySeries { max });
        }
        self.index_bytes
            .fetch_add(series_bytes(labels), Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn end(&self, labels: &Labels) {
        self.series.fetch_sub(1, Ordering::Relaxed);
        self.index_bytes
            .fetch_sub(series_bytes(labels), Ordering::Relaxed);
    }

    /// The samples of a series occupy `after` bytes, which were `before`.
    pub(super) fn resize(&self, before: usize, after: usize) {
        if before != after {
            self.sample_bytes
                .fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// The same for what is known of a metric.
    pub(super) fn resize_metadata(&self, before: usize, after: usize) {
        self.metadata_bytes
            .fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Whether so many bytes may be taken: one of those whose number is not known before.
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
            failed_snapshots: self.failed_snapshots.load(Ordering::Relaxed),
        }
    }
}

/// What a series occupies beside its samples.
fn series_bytes(labels: &Labels) -> usize {
    SeriesCell::BYTES + labels.heap_bytes() + index::postings_bytes(labels)
}

impl Db {
    /// What the database holds now.
    pub fn stats(&self) -> Stats {
        self.inner.usage.stats()
    }
}
