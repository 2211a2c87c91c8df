use std::fmt;
use std::ops::RangeBounds;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::try_unfold;
use group_commit::Queue;
use sqlite_store::in_background;
use tokio::time::sleep;
use tracing::instrument;

use super::background::run;
use super::blocking::BlockingSqliteStore;
use super::committer::Committer;
use super::config::Config;
use super::pages::Pages;
use super::request::Request;
use crate::{
    Append, Appended, Bookmark, Error, EventStore, EventStream, Events, Extent, Fault, Health,
    KeptStates, Lanes, Metrics, Notifications, Position, ProjectionLimit, Query, ReadOptions,
    RecordedCommand, Stats, Tracking,
};

/// An event store in SQLite for async callers. Cheap to clone; clones share connections and the queue.
///
/// Calls that may wait for a disk or another process run on tokio's blocking pool; see the
/// [module](super).
#[derive(Clone)]
pub struct SqliteStore {
    blocking: BlockingSqliteStore,
    queue: Arc<Queue<Committer>>,
}

impl SqliteStore {
    /// Opens the log. Installs or upgrades the schema if necessary, and verifies it. Several processes
    /// may open the same file at once. With [`Config::read_only`](super::FileConfig::read_only) it only
    /// reads.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] if the file can't be opened; [`Fault::ReadOnlyFile`] if it or its folder
    /// can't be written; [`Fault::Refused`] if it is not an SQLite database;
    /// [`Fault::SchemaChanged`] if schema objects were changed after installation;
    /// [`Fault::SchemaTooNew`] if a newer version of this library installed it;
    /// [`Error::KeysMissing`] if the first or the last event lacks its keys.
    pub async fn open(config: Config) -> Result<Self, Error> {
        // Here, because a recorder may be installed for this thread only.
        let metrics = config.metrics();
        let open = move || BlockingSqliteStore::open_measured(config, metrics);
        let opened = in_background(open).await;
        let blocking = opened.unwrap_or(Err(Fault::Closed.into()))?;
        let log = &blocking.log;
        let queue = Queue::new(Committer(Arc::clone(log)), log.config.queue_limits());
        Ok(Self {
            queue: Arc::new(queue),
            blocking,
        })
    }

    /// The blocking store for the same log. It shares the connections but has its own queue.
    pub fn blocking(&self) -> &BlockingSqliteStore {
        &self.blocking
    }

    /// Deletes all events, tracked positions and commands, for tests and demonstrations. See
    /// [`BlockingSqliteStore::clear`].
    ///
    /// # Errors
    /// [`Fault::Locked`] if another process holds the write lock for too long;
    /// [`Error::OutcomeUnknown`] if the log may or may not be empty; [`Fault::Unreachable`],
    /// [`Fault::Closed`] or [`Fault::Refused`] from SQLite.
    pub async fn clear(&self) -> Result<(), Error> {
        self.call(BlockingSqliteStore::clear).await
    }

    /// Writes a consistent copy of the log to a new file while appends continue. See
    /// [`BlockingSqliteStore::backup`].
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or can't be written; [`Fault::DiskFull`];
    /// [`Fault::Refused`] if SQLite fails or the copy is damaged; [`Fault::FileMoved`];
    /// [`Fault::Closed`].
    pub async fn backup(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref().to_owned();
        self.call(move |store| store.backup(&path)).await
    }

    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&BlockingSqliteStore) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let store = self.blocking.clone();
        run(&self.blocking.log, move |_| work(&store))
            .await
            .unwrap_or(Err(Fault::Closed.into()))
    }
}

impl EventStore for SqliteStore {
    #[instrument(level = "debug", name = "dcb.append", skip_all, fields(events = append.events.len()))]
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        let log = &self.blocking.log;
        let (config, metrics) = (&log.config, &log.counters.metrics);
        config.limits.check(&append)?;
        let _waiting = metrics.store().begins();
        let deadline = pin!(sleep(config.write_timeout));
        let request = Request::new(append, config.write_timeout);
        let ticket = Arc::clone(&request.ticket);
        let ended = match self.queue.submit_until(request, deadline).await {
            Ok(verdict) => verdict,
            Err(failed) => Err(log.without_verdict(failed, &ticket)),
        };
        metrics.append_ended(&ended);
        ended
    }

    #[instrument(level = "debug", name = "dcb.query_stream", skip_all)]
    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        let query = query.clone();
        let first = self.call(move |store| {
            let mut pages = Pages::new(query, options);
            let page = pages.next(&store.log)?;
            Ok((pages, page.into_iter()))
        });
        // The first page fixes the snapshot, so `query_stream` can return the head.
        let (pages, page) = first.await?;
        let head = pages.head();
        let store = self.clone();
        let events = try_unfold(
            (store, pages, page),
            // `pages` moves into the blocking task and back, because the task must own its data.
            async |(store, mut pages, mut page)| {
                if page.len() == 0 {
                    let next = store.call(move |store| {
                        let page = pages.next(&store.log)?;
                        Ok((pages, page.into_iter()))
                    });
                    (pages, page) = next.await?;
                }
                Ok(page.next().map(|event| (event, (store, pages, page))))
            },
        );
        Ok(EventStream::new(head, events))
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        let query = query.clone();
        self.call(move |store| store.query(&query, options)).await
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        self.call(BlockingSqliteStore::head).await
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        let query = query.clone();
        self.call(move |store| store.count(&query)).await
    }

    async fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> Result<Extent, Error> {
        let query = query.clone();
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        self.call(move |store| store.extent(&query, range)).await
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        let query = query.clone();
        self.call(move |store| store.exists(&query)).await
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        let source = source.to_owned();
        self.call(move |store| store.tracked(&source)).await
    }

    async fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        self.call(BlockingSqliteStore::all_tracked).await
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.call(move |store| store.commands(after, limit)).await
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        &self.blocking.log.projections
    }

    fn lanes(&self) -> Option<&Lanes> {
        Some(&self.blocking.log.lanes)
    }

    fn kept_states(&self) -> Option<KeptStates> {
        let keeps_states = self.blocking.log.keeps_states();
        keeps_states.then(|| KeptStates::new(self.clone()))
    }

    fn notifications(&self) -> Notifications {
        self.blocking.log.signal.notifications()
    }

    fn metrics(&self) -> Metrics {
        self.blocking.log.counters.metrics.clone()
    }

    async fn health(&self) -> Result<Health, Error> {
        self.call(BlockingSqliteStore::health).await
    }

    // Includes the calls of the blocking store.
    fn stats(&self) -> Stats {
        let queue = self.queue.stats();
        let mut stats = self.blocking.stats();
        stats.largest_batch = stats.largest_batch.max(queue.largest_batch as u64);
        stats.queued_appends += queue.queued as u64;
        stats
    }

    // The last process to close a log leaves it in a single file.
    async fn close(&self) {
        self.queue.close().await;
        let closed = self.call(|store| {
            store.close();
            Ok(())
        });
        // If the runtime is shutting down, dropping the last clone closes the connections.
        let _ = closed.await;
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.blocking.fmt(formatter)
    }
}
