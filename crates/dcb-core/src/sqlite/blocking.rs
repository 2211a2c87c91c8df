//! The store without async: every call works on its caller's thread.

use std::collections::VecDeque;
use std::fmt;
use std::iter;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use group_commit::BlockingQueue;
use store_meter::Holder;
use tracing::instrument;

use super::committer::Committer;
use super::config::Config;
use super::error::error;
use super::log::Log;
use super::pages::{self, Pages};
use super::request::Request;
use super::{admission, read};
use crate::extent::Span;
use crate::projection::LastEvents;
use crate::{
    Append, AppendCondition, Appended, Bookmark, Error, Event, Events, Extent, Health, Metrics,
    Position, Projected, Projection, Query, ReadOptions, Reads, RecordedCommand, SequencedEvent,
    Stats, Tracking,
};

/// An event store in SQLite that needs no async runtime. Cheap to clone; clones share connections and
/// the queue.
///
/// The methods mirror those of [`EventStore`](crate::EventStore), with the same errors. Concurrent
/// appends share commits. A caller that finds the writer free commits on its own thread, which is the
/// fastest way to append in this library.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::sqlite::{BlockingSqliteStore, Config};
/// use dcb_core::{AppendCondition, Event};
///
/// let store = BlockingSqliteStore::open(Config::memory())?;
/// let taken = AppendCondition::fail_if_exists("name", "ada")?;
/// let event = Event::builder("NameTaken").tag_pair("name", "ada").build()?;
/// assert_eq!(store.append_if(event, taken)?.first().get(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct BlockingSqliteStore {
    pub(super) log: Arc<Log>,
    queue: Arc<BlockingQueue<Committer>>,
}

impl BlockingSqliteStore {
    /// Opens the log. Installs or upgrades the schema if necessary, and verifies it. Several processes
    /// may open the same file at once. With [`Config::read_only`](super::FileConfig::read_only) it only
    /// reads.
    ///
    /// # Errors
    /// [`Fault::Unreachable`](crate::Fault) if the file can't be opened;
    /// [`Fault::ReadOnlyFile`](crate::Fault) if it or its folder can't be written;
    /// [`Fault::Refused`](crate::Fault) if it is not an SQLite database;
    /// [`Fault::SchemaChanged`](crate::Fault) if schema objects were changed after installation;
    /// [`Fault::SchemaTooNew`](crate::Fault) if a newer version of this library installed it;
    /// [`Error::KeysMissing`] if the first or the last event lacks its keys.
    pub fn open(config: Config) -> Result<Self, Error> {
        let metrics = config.metrics();
        Self::open_measured(config, metrics)
    }

    /// Opens the log, with metrics that were made on the caller's thread.
    pub(super) fn open_measured(config: Config, metrics: Metrics) -> Result<Self, Error> {
        let log = Arc::new(Log::open(config, metrics)?);
        let limits = log.config.queue_limits();
        let queue = BlockingQueue::new(Committer(Arc::clone(&log)), limits);
        Ok(Self {
            log,
            queue: Arc::new(queue),
        })
    }

    /// Appends atomically: all the events at consecutive positions, or none. See
    /// [`EventStore::submit`](crate::EventStore::submit).
    ///
    /// # Errors
    /// The first of these, with nothing written: [`Error::Invalid`], [`Error::DuplicateId`],
    /// [`Error::PastReplaced`], [`Error::AfterBeyondHead`], [`Error::AlreadyTracked`],
    /// [`Error::Conflict`].
    ///
    /// [`Fault::Locked`](crate::Fault) if another connection holds the write lock for too long,
    /// [`Fault::TimedOut`](crate::Fault) if the queue takes too long;
    /// [`Error::OutcomeUnknown`] if the commit may have happened; [`Fault::DiskFull`](crate::Fault);
    /// [`Fault::FileMoved`](crate::Fault); [`Fault::ReadOnlyFile`](crate::Fault) if the store was
    /// opened only for reads; [`Fault::Unreachable`](crate::Fault), [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) from SQLite.
    #[instrument(level = "debug", name = "dcb.append", skip_all, fields(events = append.events.len()))]
    pub fn submit(&self, append: Append) -> Result<Appended, Error> {
        let config = &self.log.config;
        config.limits.check(&append)?;
        let request = Request::new(append, config.write_timeout);
        let deadline = request.deadline;
        let ticket = Arc::clone(&request.ticket);
        let _waiting = self.log.counters.metrics.store().begins();
        let ended = match self.queue.submit_until(request, deadline) {
            Ok(verdict) => verdict,
            Err(failed) => Err(self.log.without_verdict(failed, &ticket)),
        };
        self.log.counters.metrics.append_ended(&ended);
        ended
    }

    /// Appends without a condition. Shorthand for [`BlockingSqliteStore::submit`].
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::DuplicateId`], with nothing written;
    /// [`Error::OutcomeUnknown`]; or an error of SQLite. See [`BlockingSqliteStore::submit`].
    pub fn append(&self, events: impl Into<Vec<Event>>) -> Result<Appended, Error> {
        self.submit(Append::new(events))
    }

    /// Appends under one condition or several, all of which must hold. Shorthand for
    /// [`BlockingSqliteStore::submit`].
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::DuplicateId`], [`Error::AfterBeyondHead`] or
    /// [`Error::Conflict`], with nothing written; [`Error::OutcomeUnknown`]; or an error of SQLite.
    /// See [`BlockingSqliteStore::submit`].
    pub fn append_if(
        &self,
        events: impl Into<Vec<Event>>,
        conditions: impl Into<Vec<AppendCondition>>,
    ) -> Result<Appended, Error> {
        self.submit(Append {
            conditions: conditions.into(),
            ..Append::new(events)
        })
    }

    /// Reads the matching events of one snapshot into memory, together with its head.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if a forward read starts after a position beyond the head;
    /// [`Error::PastReplaced`] if the log has another event at the [`Bookmark`] that the read starts
    /// after; [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.query", skip_all)]
    pub fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        pages::whole(&self.log, query, options)
    }

    /// Iterates over the matching events of one snapshot in constant memory. The iterator also knows
    /// the head of that snapshot.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if a forward read starts after a position beyond the head;
    /// [`Error::PastReplaced`] if the log has another event at the [`Bookmark`] that the read starts
    /// after; [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.query_stream", skip_all)]
    pub fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<BlockingEventStream, Error> {
        let mut pages = Pages::new(query.clone(), options);
        let page = pages.next(&self.log)?.into_iter();
        Ok(BlockingEventStream {
            log: Arc::clone(&self.log),
            pages,
            page,
        })
    }

    /// The last event of the log: its position and its id. `None` while the log is empty.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.head", skip_all)]
    pub fn head(&self) -> Result<Option<Bookmark>, Error> {
        self.read(read::head)
    }

    /// Counts the matching events.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.count", skip_all)]
    pub fn count(&self, query: &Query) -> Result<u64, Error> {
        self.extent(query, ..).map(|extent| extent.count)
    }

    /// Counts the matching events in a range of positions and finds the last of them, in one snapshot.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite. A range beyond
    /// the head is not an error; it has no events.
    #[instrument(level = "debug", name = "dcb.extent", skip_all)]
    pub fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position>,
    ) -> Result<Extent, Error> {
        let span = Span::of(&range);
        self.log
            .with_snapshot(Holder::Scan, |snapshot| read::extent(snapshot, query, span))
    }

    /// Whether any event matches. Costs the same with one match or a million.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.exists", skip_all)]
    pub fn exists(&self, query: &Query) -> Result<bool, Error> {
        self.log
            .with_snapshot(Holder::Scan, |snapshot| read::exists(snapshot, query))
    }

    /// The last upstream position that an append tracked for `source`.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.tracked", skip_all)]
    pub fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        self.read(|connection| admission::tracked(connection, source))
    }

    /// The last upstream position of each source that appends have tracked, by the name of the source.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.all_tracked", skip_all)]
    pub fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        let tracked = self.read(admission::all_tracked)?.into_iter();
        tracked
            .map(|(source, position)| Tracking::new(source, position.unsigned_abs()))
            .collect()
    }

    /// Returns at most `limit` stored commands whose events come after the position `after`,
    /// exclusive, in the order of their events.
    ///
    /// # Errors
    /// [`Error::Fault`] from SQLite.
    #[instrument(level = "debug", name = "dcb.commands", skip_all)]
    pub fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.read(|connection| read::commands(connection, after, limit))
    }

    /// Folds the events of one snapshot into the state of `projection`, in constant memory. The result
    /// includes the append condition that protects exactly the events that were read.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `projection` is an empty list; [`Error::TooManyProjections`] immediately
    /// if the limit is reached; the error of [`Projection::apply`]; [`Error::Fault`] from SQLite.
    pub fn project<P: Projection>(&self, projection: &P) -> Result<Projected<P::State>, Error> {
        self.project_after(projection, None)
    }

    /// Like [`BlockingSqliteStore::project`], but only over the events after `after`, exclusive.
    ///
    /// # Errors
    /// [`Error::AfterBeyondHead`] if `after` is greater than the head; [`Error::PastReplaced`] if the
    /// log has another event at this [`Bookmark`]; any error of [`BlockingSqliteStore::project`].
    #[instrument(level = "debug", name = "dcb.project", skip_all)]
    pub fn project_after<P: Projection>(
        &self,
        projection: &P,
        after: impl Into<Option<Bookmark>>,
    ) -> Result<Projected<P::State>, Error> {
        projection.check()?;
        let _permit = self.log.projections.acquire()?;
        let reads = projection.reads();
        let (events, head) = self.events(&reads, after.into())?;
        let mut state = projection.initial();
        for event in events {
            projection.apply_read(&mut state, &event?)?;
        }
        let condition = AppendCondition::fail_if(reads.boundary()).after(head);
        Ok(Projected { state, condition })
    }

    /// The events of all reads, in the order of the log and each once, and the head of their snapshot.
    pub(super) fn events(
        &self,
        reads: &Reads,
        after: Option<Bookmark>,
    ) -> Result<
        (
            impl Iterator<Item = Result<SequencedEvent, Error>> + use<>,
            Option<Bookmark>,
        ),
        Error,
    > {
        let forward = match reads.forward(after) {
            Some((query, options)) => Some(self.query_stream(query, options)?),
            None => None,
        };
        let head = forward.as_ref().map(BlockingEventStream::head);
        let mut last = LastEvents::new(after, head);
        for query in &reads.last {
            last.add(self.query(query, last.options())?);
        }
        let head = last.head();
        let mut forward = forward.into_iter().flatten();
        let (mut last, mut ready) = (Some(last), VecDeque::new());
        let events = iter::from_fn(move || {
            while ready.is_empty() {
                match forward.next() {
                    Some(Ok(event)) => {
                        ready.extend(last.iter_mut().flat_map(|last| last.before(&event)));
                        ready.push_back(event);
                    }
                    Some(Err(failed)) => return Some(Err(failed)),
                    None => ready.extend(last.take()?.rest()),
                }
            }
            ready.pop_front().map(Ok)
        });
        Ok((events, head))
    }

    /// Writes a consistent copy of the log to a new file. Appends continue during the backup. When
    /// this returns, the copy is checked and on disk, and opens like any other log. It contains your
    /// own tables in the file as well. Reads the whole file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or can't be written; [`Fault::DiskFull`](crate::Fault);
    /// [`Fault::Refused`](crate::Fault) if SQLite fails or the copy is damaged;
    /// [`Fault::FileMoved`](crate::Fault); [`Fault::Closed`](crate::Fault).
    #[instrument(level = "debug", name = "dcb.backup", skip_all)]
    pub fn backup(&self, path: &Path) -> Result<(), Error> {
        self.log.backup(path)
    }

    /// Tests a read connection and the writer's connection, and reports the durability settings.
    ///
    /// # Errors
    /// [`Fault::FileMoved`](crate::Fault); [`Error::KeysMissing`]; [`Fault::TimedOut`](crate::Fault),
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault).
    pub fn health(&self) -> Result<Health, Error> {
        self.log.health()
    }

    /// Deletes all events, tracked positions and commands. The next event gets position 1. Use it in
    /// tests and demonstrations.
    ///
    /// Every append of any process is committed either before or after the log is cleared. A read
    /// that has started may still return deleted events. A later call with an old `after` fails
    /// with [`Error::AfterBeyondHead`] until the new log has grown to that position, and with
    /// [`Error::PastReplaced`] from then on if `after` is a [`Bookmark`] with an id.
    ///
    /// The tables and checkpoints of stored projections stay, so rebuild all projections. Until the
    /// log has grown to its checkpoint, a projection that is not rebuilt fails with the same error.
    ///
    /// # Errors
    /// [`Fault::Locked`](crate::Fault) if another process holds the write lock for too long;
    /// [`Error::OutcomeUnknown`] if the log may or may not be empty;
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::Closed`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) from SQLite.
    pub fn clear(&self) -> Result<(), Error> {
        self.log.clear()
    }

    /// Statistics since the store was opened.
    pub fn stats(&self) -> Stats {
        let counters = &self.log.counters;
        let queue = self.queue.stats();
        self.log.lanes.add_to(Stats {
            commits: counters.commits.load(Ordering::Relaxed),
            appends: counters.appends.load(Ordering::Relaxed),
            events: counters.events.load(Ordering::Relaxed),
            conflicts: counters.conflicts.load(Ordering::Relaxed),
            reads: counters.reads.load(Ordering::Relaxed),
            largest_batch: queue.largest_batch as u64,
            queued_appends: queue.queued as u64,
            running_projections: self.log.projections.running() as u64,
            read_connections: self.log.read_connections() as u64,
            ..Stats::default()
        })
    }

    /// Refuses new calls, waits for queued appends, and closes the connections. The last process to
    /// close the log leaves it in a single file. May be called several times and on any clone.
    pub fn close(&self) {
        self.queue.close();
        self.log.close();
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let read = |connection: &_| work(connection).map_err(|failed| error(&failed));
        self.log.read(Holder::Page, read)
    }
}

impl fmt::Debug for BlockingSqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BlockingSqliteStore")
            .field("location", &self.log.config.location)
            .finish_non_exhaustive()
    }
}

/// Iterates over the events of a read, all from one snapshot. It holds no connection and no
/// transaction between pages, so it may live for any length of time. An error ends it.
pub struct BlockingEventStream {
    log: Arc<Log>,
    pages: Pages,
    page: std::vec::IntoIter<SequencedEvent>,
}

impl BlockingEventStream {
    /// The last event of the log in the snapshot, `None` if the log is empty.
    pub fn head(&self) -> Option<Bookmark> {
        self.pages.head()
    }
}

impl Iterator for BlockingEventStream {
    type Item = Result<SequencedEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(event) = self.page.next() {
            return Some(Ok(event));
        }
        match self.pages.next(&self.log) {
            Ok(page) => {
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl fmt::Debug for BlockingEventStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BlockingEventStream")
            .field("head", &self.head())
            .finish_non_exhaustive()
    }
}
