//! The database: a table of series in shards, an index over their labels, and optionally a log.
//!
//! Invariant: locks are taken in the order shard, series, index. If a handle or a batch knows the
//! series, a write takes only the series lock. Only a snapshot of the log holds several series
//! locks at once. All of them are in one shard, whose lock it holds too. With another order
//! `tests/model` deadlocks.
//!
//! Writers with handles share only the memory counters in [`usage`], which change when a write
//! allocates, and the log's buffers.

#[cfg(feature = "wire")]
mod aliases;
mod cardinality;
mod delete;
#[cfg(feature = "wire")]
mod follow;
mod list;
mod metadata;
mod new_series;
mod open;
mod repair;
mod restore;
mod retention;
mod snapshot;
mod usage;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::data::{SeriesData, Snapshot};
use crate::index::Index;
use crate::journal::FlushDemand;
use crate::key::SHARDS;
use crate::meters::Meters;
use crate::series_cell::SeriesCell;
use crate::shard::Shard;
use crate::sync::{AtomicU64, Mutex, MutexGuard, RwLock};
use crate::wal::Log;
use crate::{DbOptions, Error, Labels, Matcher, Metadata, Selection, Series};

#[cfg(feature = "wire")]
pub(crate) use aliases::{Aliases, NewAlias};
pub(crate) use cardinality::Top;
pub use cardinality::{Cardinality, Extent};
pub use delete::Deleted;
use open::Session;
pub use repair::{FileReport, Gap};
use retention::Clock;
pub use usage::Stats;
use usage::Usage;

/// A time-series database in memory.
///
/// Clones share the same data, and every method may be called from any thread. Writers of different
/// series rarely wait for each other, and least often with handles ([`Series`]). Readers share or
/// copy compressed blocks under a short lock, and decode without one.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
    /// `None` without files.
    session: Option<Arc<Session>>,
}

pub(crate) struct Inner {
    options: DbOptions,
    shards: Box<[Padded]>,
    /// Locked for writing only while a series begins or ends, under its shard's lock. Take no other
    /// lock while holding it.
    index: RwLock<Index>,
    metadata: RwLock<BTreeMap<String, Metadata>>,
    /// Take no other lock while holding it.
    #[cfg(feature = "wire")]
    aliases: RwLock<Aliases>,
    journal: Option<Arc<Log>>,
    next_id: AtomicU64,
    usage: Usage,
    meters: Meters,
    clock: Clock,
}

/// A shard on separate cache lines. Two locks on one line would slow each other's writers down. The
/// alignment is 128 bytes, because some processors prefetch lines in pairs.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl Db {
    /// Creates an empty database in memory, without files.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Retention, Sample};
    ///
    /// let week_ms = 7 * 24 * 60 * 60 * 1000;
    /// let db = Db::new(DbOptions {
    ///     retention: Retention { age_ms: Some(week_ms), bytes: None },
    ///     ..DbOptions::default()
    /// });
    /// assert_eq!(db.series_count(), 0);
    /// ```
    pub fn new(options: DbOptions) -> Self {
        Self {
            inner: Arc::new(Inner::new(options)),
            session: None,
        }
    }

    /// Creates an empty batch for this database. The caller may add a series together with its
    /// cell, which saves the lookup.
    #[cfg(feature = "wire")]
    pub(crate) fn batch(&self) -> crate::Batch {
        crate::Batch::for_db(&self.inner)
    }

    /// Returns the options that the database was created or opened with.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, DuplicatePolicy};
    ///
    /// let db = Db::new(DbOptions::default());
    /// assert_eq!(db.options().duplicates, DuplicatePolicy::LastWins);
    /// ```
    pub fn options(&self) -> &DbOptions {
        &self.inner.options
    }

    /// Returns a write handle to the series with `labels`. The series begins with its first sample.
    ///
    /// # Errors
    /// [`Error::MissingMetric`], [`Error::Label`] or [`Error::TooManyLabels`].
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut load = db.series(&Labels::new("cpu_load", [("host", "web-1")])?)?;
    /// for second in 0..60 {
    ///     load.append(Sample::new(second * 1000, 0.42))?;
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn series(&self, labels: &Labels) -> Result<Series, Error> {
        self.inner.options.limits.check_labels(labels)?;
        Ok(Series::new(self.clone(), labels.clone()))
    }

    /// Finds the series that match all of `matchers`, for reading their samples from `from_ms` to
    /// `to_ms`, both inclusive. Without matchers it finds all series.
    ///
    /// The call only finds series. The methods of [`SelectedSeries`](crate::SelectedSeries) read
    /// the samples, so a series in the selection may have none in the range.
    ///
    /// ```
    /// use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// for (host, requests) in [("web-1", 120.0), ("web-2", 80.0)] {
    ///     let labels = Labels::new("requests", [("host", host), ("dc", "north")])?;
    ///     db.append(&labels, Sample::new(1000, requests))?;
    /// }
    /// let found = db.select(&[Matcher::metric("requests"), Matcher::equal("dc", "north")], 0, 5000);
    /// let total: f64 = found.iter().filter_map(|series| series.aggregate(Aggregate::Sum)).sum();
    /// assert_eq!(total, 200.0);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn select(&self, matchers: &[Matcher], from_ms: i64, to_ms: i64) -> Selection {
        let series = self.inner.index.read().select(matchers);
        // Retention frees whole blocks, and only later, but reads must hide expired samples at
        // once.
        let from_ms = from_ms.max(self.inner.clock.oldest_ms());
        Selection::new(self.clone(), series, from_ms, to_ms)
    }

    pub(crate) fn snapshot(&self, cell: &SeriesCell, from_ms: i64, to_ms: i64) -> Snapshot {
        let mut data = cell.data.lock();
        self.inner.snapshot(&mut data, from_ms, to_ms)
    }
}

impl Inner {
    fn new(options: DbOptions) -> Self {
        let meters = Meters::new();
        let shards = (0..SHARDS).map(|_| Padded(Mutex::new(Shard::default())));
        Self {
            shards: shards.collect(),
            index: RwLock::new(Index::default()),
            metadata: RwLock::new(BTreeMap::new()),
            #[cfg(feature = "wire")]
            aliases: RwLock::new(Aliases::default()),
            journal: None,
            next_id: AtomicU64::new(1),
            usage: Usage::new(meters.usage()),
            meters,
            clock: Clock::new(options.retention.age_ms),
            options,
        }
    }

    fn lock_shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.shards[index].0.lock()
    }

    /// Takes a snapshot of the samples in a range. This merges pending late samples, which changes
    /// the memory in use.
    fn snapshot(&self, data: &mut SeriesData, from_ms: i64, to_ms: i64) -> Snapshot {
        self.usage
            .change(data, |data| data.snapshot(from_ms, to_ms))
    }

    /// Flushes or syncs the log if the write made that necessary. Call it without holding a lock.
    fn settle(&self, demand: Option<FlushDemand>) -> Result<(), Error> {
        match (&self.journal, demand) {
            (Some(journal), Some(demand)) => journal.settle(demand),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
