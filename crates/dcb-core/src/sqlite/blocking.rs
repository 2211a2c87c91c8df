//! The store for threads: every call works on the thread of its caller.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use group_commit::BlockingQueue;
use tracing::instrument;

use super::committer::{Committer, queue_limits, unsettled};
use super::config::Config;
use super::counters::Stats;
use super::error::error;
use super::health::Health;
use super::log::Log;
use super::pages::{self, Pages};
use super::request::Request;
use super::session::deadline;
use super::{admission, read};
use crate::extent::Span;
use crate::{
    Append, AppendCondition, Appended, Decided, DecisionModel, Error, Event, Events, Extent,
    Position, Projected, Projection, Query, ReadOptions, RecordedCommand, SequencedEvent,
};

/// A log in SQLite, without a runtime. Cheap to clone; clones share connections and the queue.
///
/// The calls are those of [`EventStore`](crate::EventStore), with the same meaning and the same
/// errors. Threads that append at once share commits; one that finds the writer free commits on its
/// own, which is the fastest way to append that this library has.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::sqlite::{Config, blocking::SqliteStore};
/// use dcb_core::{AppendCondition, Event};
///
/// let store = SqliteStore::open(Config::memory())?;
/// let taken = AppendCondition::fail_if_exists("name", "ada")?;
/// let event = Event::builder("NameTaken").tag_pair("name", "ada").build()?;
/// assert_eq!(store.append_if(event, taken)?.first().get(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    pub(super) log: Arc<Log>,
    queue: Arc<BlockingQueue<Committer>>,
}

impl SqliteStore {
    /// Opens the log, installs the schema where it is missing or older, and checks that it is as it
    /// is installed. Several processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the file can't be opened, [`Error::Database`] where it is no
    /// database, [`Error::SchemaMismatch`] that names what differs, [`Error::SchemaTooNew`].
    pub fn open(config: Config) -> Result<Self, Error> {
        let log = Arc::new(Log::open(config)?);
        let limits = queue_limits(&log.config);
        let queue = BlockingQueue::new(Committer(Arc::clone(&log)), limits);
        Ok(Self {
            log,
            queue: Arc::new(queue),
        })
    }

    /// As [`EventStore::submit`](crate::EventStore::submit).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "dcb.append", skip_all, fields(events = append.events.len()))]
    pub fn submit(&self, append: Append) -> Result<Appended, Error> {
        let config = &self.log.config;
        config.limits.check(&append)?;
        let deadline = deadline(config.append_timeout);
        let request = Request::new(append);
        let ids = Arc::clone(&request.ids);
        match self.queue.submit_until(request, deadline) {
            Ok(verdict) => verdict,
            Err(failed) => Err(unsettled(failed, &ids, config)),
        }
    }

    /// [`SqliteStore::submit`] without a condition.
    ///
    /// # Errors
    /// As [`SqliteStore::submit`].
    pub fn append(&self, events: impl Into<Vec<Event>>) -> Result<Appended, Error> {
        self.submit(Append::new(events))
    }

    /// [`SqliteStore::submit`] under a condition.
    ///
    /// # Errors
    /// As [`SqliteStore::submit`].
    pub fn append_if(
        &self,
        events: impl Into<Vec<Event>>,
        condition: AppendCondition,
    ) -> Result<Appended, Error> {
        self.submit(Append::new(events).condition(condition))
    }

    /// The events that match, and the head, of one snapshot, all in memory.
    ///
    /// # Errors
    /// As [`EventStore::query`](crate::EventStore::query).
    #[instrument(level = "debug", name = "dcb.query", skip_all)]
    pub fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        pages::whole(&self.log, query, options)
    }

    /// The events that match, and the head, of one snapshot, one at a time in constant memory.
    ///
    /// # Errors
    /// As [`EventStore::query_stream`](crate::EventStore::query_stream).
    #[instrument(level = "debug", name = "dcb.query_stream", skip_all)]
    pub fn query_stream(&self, query: &Query, options: ReadOptions) -> Result<EventStream, Error> {
        let mut pages = Pages::new(query.clone(), options);
        let page = pages.next(&self.log)?.into_iter();
        Ok(EventStream {
            log: Arc::clone(&self.log),
            pages,
            page,
        })
    }

    /// The last position of the log, `None` while it is empty.
    ///
    /// # Errors
    /// What SQLite met.
    #[instrument(level = "debug", name = "dcb.head", skip_all)]
    pub fn head(&self) -> Result<Option<Position>, Error> {
        self.read(read::head).map(read::position)
    }

    /// How many events match.
    ///
    /// # Errors
    /// What SQLite met.
    #[instrument(level = "debug", name = "dcb.count", skip_all)]
    pub fn count(&self, query: &Query) -> Result<u64, Error> {
        self.extent(query, ..).map(|extent| extent.count)
    }

    /// How many events in a part of the log match, the last of them, and the head, of one snapshot.
    ///
    /// # Errors
    /// What SQLite met. A part beyond the head has no events.
    #[instrument(level = "debug", name = "dcb.extent", skip_all)]
    pub fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position>,
    ) -> Result<Extent, Error> {
        let span = Span::of(&range);
        self.log
            .at_one_moment(|moment| read::extent(moment, query, span))
    }

    /// Whether any event matches. Costs the same with one match or a million.
    ///
    /// # Errors
    /// What SQLite met.
    #[instrument(level = "debug", name = "dcb.exists", skip_all)]
    pub fn exists(&self, query: &Query) -> Result<bool, Error> {
        self.log.at_one_moment(|moment| read::exists(moment, query))
    }

    /// The last upstream position that an append tracked for `source`.
    ///
    /// # Errors
    /// What SQLite met.
    #[instrument(level = "debug", name = "dcb.tracked", skip_all)]
    pub fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        self.read(|connection| admission::tracked(connection, source))
    }

    /// At most `limit` commands that were kept, in the order of their events, from the first whose
    /// events are after the position `after`.
    ///
    /// # Errors
    /// What SQLite met.
    #[instrument(level = "debug", name = "dcb.commands", skip_all)]
    pub fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.read(|connection| read::commands(connection, after, limit))
    }

    /// Folds the events of one snapshot into the state of `projection`, in constant memory; with
    /// it comes the condition that protects exactly what was read.
    ///
    /// # Errors
    /// [`Error::TooManyProjections`] at once where the limit is reached; else what SQLite met.
    pub fn project<P: Projection>(&self, projection: &P) -> Result<Projected<P::State>, Error> {
        self.project_after(projection, None)
    }

    /// As [`SqliteStore::project`], over the events past `after` alone.
    ///
    /// # Errors
    /// As [`SqliteStore::project`], and [`Error::AfterBeyondHead`].
    #[instrument(level = "debug", name = "dcb.project", skip_all)]
    pub fn project_after<P: Projection>(
        &self,
        projection: &P,
        after: impl Into<Option<Position>>,
    ) -> Result<Projected<P::State>, Error> {
        let _permit = self.log.projections.acquire()?;
        let mut state = projection.initial();
        let query = projection.query();
        let mut pages = Pages::new(query.clone(), ReadOptions::new().after(after));
        loop {
            let page = pages.next(&self.log)?;
            if page.is_empty() {
                let condition = AppendCondition::fail_if(query).after(pages.head());
                return Ok(Projected { state, condition });
            }
            for event in &page {
                projection.apply(&mut state, event);
            }
        }
    }

    /// As [`DecisionModel::decide`].
    ///
    /// ```
    /// # fn main() -> Result<(), dcb_core::Error> {
    /// use dcb_core::sqlite::{Config, blocking::SqliteStore};
    /// use dcb_core::{DecisionModel, Event, Projector, Query};
    ///
    /// let store = SqliteStore::open(Config::memory())?;
    /// let seats = Query::builder().tag_pair("course", "c1").build()?;
    /// let model = DecisionModel::new(Projector::counter(seats));
    /// let decided = store.decide(&model, |taken| {
    ///     let seat = Event::builder("SeatTaken").tag_pair("course", "c1").json(&(taken + 1));
    ///     seat.build()
    /// })?;
    /// assert_eq!(decided.attempts, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn decide<P, V, E>(
        &self,
        model: &DecisionModel<P>,
        mut decide: impl FnMut(P::State) -> Result<V, E>,
    ) -> Result<Decided, E>
    where
        P: Projection,
        V: Into<Vec<Event>>,
        E: From<Error>,
    {
        let mut attempts = model.attempts();
        loop {
            let append = self.project(&model.projection)?.decided(&mut decide)?;
            let appended = match append.events.is_empty() {
                true => Ok(None),
                false => self.submit(append).map(Some),
            };
            if let Some(decided) = attempts.judge(appended)? {
                return Ok(decided);
            }
        }
    }

    /// Asks the connections for an answer, and the writer's for its settings.
    ///
    /// # Errors
    /// [`Error::Closed`], or what SQLite met.
    pub fn health(&self) -> Result<Health, Error> {
        self.log.health()
    }

    /// Empties the log: events, tags, what was tracked, commands. The next event is at position 1.
    ///
    /// Appends by any process come before it or after it; a read that is under way may see what was
    /// there. Whoever comes back with an older `after` is told [`Error::AfterBeyondHead`].
    /// Checkpoints stay, because the tables that they speak of do: a kept projection ends with that
    /// error too, and is to be reset. For tests and demonstrations.
    ///
    /// # Errors
    /// [`Error::Timeout`] where another process did not finish in time, [`Error::Closed`], or what
    /// SQLite met.
    pub fn clear(&self) -> Result<(), Error> {
        self.log.clear()
    }

    /// What the store has done so far.
    pub fn stats(&self) -> Stats {
        let counters = &self.log.counters;
        let queue = self.queue.stats();
        Stats {
            commits: counters.commits.load(Ordering::Relaxed),
            appends: counters.appends.load(Ordering::Relaxed),
            events: counters.events.load(Ordering::Relaxed),
            conflicts: counters.conflicts.load(Ordering::Relaxed),
            reads: counters.reads.load(Ordering::Relaxed),
            largest_batch: queue.largest_batch,
            queued_appends: queue.queued,
            running_projections: self.log.projections.running(),
            read_connections: self.log.read_connections(),
        }
    }

    /// Lets the appends that wait finish, refuses new calls, and closes the connections; the last
    /// process to do so leaves the log in one file. May be called again, and through any clone.
    pub fn close(&self) {
        self.queue.close();
        self.log.close();
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.log
            .read(|connection| work(connection).map_err(|failed| error(&failed)))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqliteStore")
            .field("path", &self.log.config.path)
            .finish_non_exhaustive()
    }
}

/// The events of a read, one at a time, from one snapshot. Nothing stays open between its pages, so
/// it may be kept for as long as one likes. An error ends it.
pub struct EventStream {
    log: Arc<Log>,
    pages: Pages,
    page: std::vec::IntoIter<SequencedEvent>,
}

impl EventStream {
    /// The last position of the log in the snapshot, `None` of an empty log.
    pub fn head(&self) -> Option<Position> {
        self.pages.head()
    }
}

impl Iterator for EventStream {
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

impl fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventStream")
            .field("head", &self.head())
            .finish_non_exhaustive()
    }
}
