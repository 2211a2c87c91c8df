mod aliases;
mod delete;
mod list;
mod metadata;
mod open;
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
use crate::journal::Ticket;
use crate::series_cell::SeriesCell;
use crate::shard::{SHARDS, Shard};
use crate::sync::{AtomicU64, Mutex, MutexGuard, RwLock};
use crate::wal::Log;
use crate::{Batch, DbOptions, Error, Labels, Matcher, Metadata, Selection, Series};

pub(crate) use aliases::{Aliases, Named};
pub use delete::Deleted;
use open::Session;
pub(crate) use restore::Restorer;
use retention::Clock;
pub use usage::Stats;
use usage::Usage;

/// A time-series database in memory.
///
/// A clone is another reference to the same data. All calls may come from any thread; writers of
/// different series don't wait for each other if they have handles and rarely if not, readers copy
/// what they need of a series and hold no lock while they decode.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
    /// If there are files.
    session: Option<Arc<Session>>,
}

pub(crate) struct Inner {
    options: DbOptions,
    shards: Box<[Padded]>,
    /// Taken for writing only while a series begins or ends, inside its shard's lock; never the
    /// other way round.
    index: RwLock<Index>,
    metadata: RwLock<BTreeMap<String, Metadata>>,
    /// No other lock is taken inside it.
    aliases: RwLock<Aliases>,
    journal: Option<Arc<Log>>,
    next_id: AtomicU64,
    usage: Usage,
    clock: Clock,
}

/// On cache lines of its own, for writers of neighbouring shards not to wait for one another.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl Db {
    /// An empty database.
    pub fn new(options: DbOptions) -> Self {
        Self {
            inner: Arc::new(Inner::new(options)),
            session: None,
        }
    }

    /// An empty batch that is to be written to this database, whose keys it can be told.
    pub(crate) fn batch(&self) -> Batch {
        Batch::within(&self.inner)
    }

    /// What the database was opened with.
    pub fn options(&self) -> &DbOptions {
        &self.inner.options
    }

    /// A writer's handle to the series of `labels`. The series begins with its first sample.
    ///
    /// # Errors
    /// [`Error::MissingMetric`], [`Error::LabelTooLong`] or [`Error::TooManyLabels`].
    pub fn series(&self, labels: &Labels) -> Result<Series, Error> {
        self.inner.options.limits.check_labels(labels)?;
        Ok(Series::new(self.clone(), labels.clone()))
    }

    /// The series that fulfil all of `matchers`, with their samples from `from_ms` to `to_ms`, both
    /// included. Without a matcher: all series.
    ///
    /// Finds the series only; samples are read when they are asked for.
    pub fn select(&self, matchers: &[Matcher], from_ms: i64, to_ms: i64) -> Selection {
        let series = self.inner.index.read().select(matchers);
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
        let shards = (0..SHARDS).map(|_| Padded(Mutex::new(Shard::default())));
        Self {
            shards: shards.collect(),
            index: RwLock::new(Index::default()),
            metadata: RwLock::new(BTreeMap::new()),
            aliases: RwLock::new(Aliases::default()),
            journal: None,
            next_id: AtomicU64::new(1),
            usage: Usage::default(),
            clock: Clock::new(options.retention.age_ms),
            options,
        }
    }

    fn lock(&self, place: usize) -> MutexGuard<'_, Shard> {
        self.shards[place].0.lock()
    }

    /// What a series has in a range. Samples that waited for their place occupy less afterwards.
    fn snapshot(&self, data: &mut SeriesData, from_ms: i64, to_ms: i64) -> Snapshot {
        let before = data.size_bytes();
        let snapshot = data.snapshot(from_ms, to_ms);
        self.usage.resize(before, data.size_bytes());
        snapshot
    }

    fn settle(&self, ticket: Option<Ticket>) -> Result<(), Error> {
        match (&self.journal, ticket) {
            (Some(journal), Some(ticket)) => journal.settle(ticket),
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
