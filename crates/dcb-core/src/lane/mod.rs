//! Lanes: decisions of one process on the same boundary follow each other instead of colliding.
//!
//! The members of a lane decide in order of arrival. Each one folds the events that the members
//! before it have decided, although these are not committed yet. While a commit is under way, the
//! lane collects the next decisions. They become one append, with the condition that no event of
//! another writer matches. So if one decision of a group is committed, all of them are, and each has
//! seen exactly the matching events before its own. If the append is refused, every decision that
//! was built on it is made again.
//!
//! A decision, from its arrival to its outcome:
//!
//! 1. [`Lanes::enter`] takes a place in the line of the boundary's lane ([`line`]).
//! 2. The member folds the events that the lane keeps ([`known`]), and waits for its turn.
//! 3. At its turn, it reads the log if the lane is new or another writer has appended, and folds what
//!    was decided before it. It decides, and its turn ends.
//! 4. The events join a group ([`group`]). If no commit is under way, this member begins one ([`drive`]).
//!    It polls the commit while it is alone in the lane; otherwise a spawned task does ([`answer`]).
//! 5. The end of the commit answers each member of the group, and begins the commit of the next.
//!
//! Invariants:
//!
//! - A decision is answered only when everything that it saw is committed or it is to be made again.
//!   So a decision without events waits as well.
//! - A decision without events saw the log of a time after its call began. If no commit proves that, a
//!   read does, once for all that wait for it.
//! - A member that is dropped, panics or takes too long delays the others by at most
//!   [`Lanes::TURN_LIMIT`].
//! - A lane without members rests ([`cache`]): it keeps what it knows. The next member decides on that
//!   as on what other members have decided. If the log has changed meanwhile, the lane reads what is
//!   new, and the attempt does not count.
//!
//! Tested by `lanes.rs` of `dcb-conformance`.

mod answer;
#[cfg(feature = "sqlite")]
mod blocking;
mod cache;
mod drive;
mod events;
mod group;
mod known;
mod line;
mod pause;
mod seat;
mod state;
mod storing;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

pub(crate) use answer::Answer;
use answer::Held;
#[cfg(feature = "sqlite")]
pub(crate) use blocking::wait_for_answer;
use cache::{Cache, Counts};
pub(crate) use drive::drive;
#[cfg(feature = "sqlite")]
pub(crate) use drive::drive_blocking;
pub(crate) use group::{Decision, Outcome};
use known::Known;
pub(crate) use known::{Folded, Unfolded};
pub(crate) use pause::pause;
pub use seat::Turn;
pub(crate) use seat::{Decider, Seat};
use state::{CommitEnd, State};
pub(crate) use state::{Next, Purpose, Start};
pub(crate) use storing::{StateOutcome, Storing};

use crate::{Append, Appended, Error, Metrics, Query, Reads, Stats, Upcasts};

/// The lanes of a store: one for each boundary on which a decision is under way, and those that keep
/// what they know for the next decision.
///
/// A store that has `Lanes` returns them from [`EventStore::lanes`](crate::EventStore::lanes). Then
/// [`DecisionModel`](crate::DecisionModel) and [`CommandExecutor`](crate::CommandExecutor) use them.
/// Clones share the lanes.
#[derive(Clone)]
pub struct Lanes {
    cache: Arc<Cache>,
    upcasts: Option<Arc<Upcasts>>,
    metrics: Metrics,
}

/// The decisions on one boundary.
pub(crate) struct Lane {
    reads: Arc<Reads>,
    /// Its size while it knows no event.
    size_bytes: usize,
    state: Mutex<State>,
    /// Whether a task stores the state in the database.
    is_storing: AtomicBool,
    /// The commits, between two polls of its only member.
    held: Mutex<Option<Held>>,
    cache: Weak<Cache>,
}

impl Lanes {
    /// How long a member may take to decide while others wait. Then it loses its turn, and decides
    /// again.
    pub const TURN_LIMIT: Duration = Duration::from_millis(100);

    /// How long a member may read before it decides. Each page of events that it reads extends the
    /// limit.
    pub(crate) const READ_LIMIT: Duration = Duration::from_secs(1);

    /// Whether a lane keeps this many events of this size. The members of a larger boundary read it
    /// for themselves, and commit one by one.
    pub(crate) fn can_keep(events: usize, bytes: usize) -> bool {
        events <= Known::MAX_EVENTS && bytes <= Known::MAX_BYTES
    }

    /// Creates the lanes of a store, with a cache of [`Lanes::DEFAULT_CACHE_BYTES`].
    pub fn new() -> Self {
        Self::with_cache(Self::DEFAULT_CACHE_BYTES)
    }

    /// Creates the lanes of a store. Those without members keep their events, of at most this size
    /// together; with 0 they keep nothing. The least recently used is dropped first.
    ///
    /// A lane names its last event by position and id in the `after` of its conditions, so that the store
    /// refuses it if the log has another event there. So the heads that the store's reads return must have
    /// an id.
    pub fn with_cache(max_bytes: usize) -> Self {
        Self::measured(max_bytes, Metrics::default())
    }

    /// Creates the lanes of a store whose decisions are recorded.
    pub(crate) fn measured(max_bytes: usize, metrics: Metrics) -> Self {
        let cache = Cache::new(max_bytes, Arc::default(), metrics.clone());
        Self {
            cache: Arc::new(cache),
            upcasts: None,
            metrics,
        }
    }

    /// The lanes of a store that returns the events of this one through `upcasts`. They have a cache of
    /// their own, of the same size, because the events differ.
    pub(crate) fn upcasting(&self, upcasts: Arc<Upcasts>) -> Self {
        let counts: Arc<Counts> = Arc::clone(&self.cache.counts);
        let cache = Cache::new(self.cache.max_bytes, counts, self.metrics.clone());
        Self {
            cache: Arc::new(cache),
            upcasts: Some(upcasts),
            metrics: self.metrics.clone(),
        }
    }

    /// Drops the events of all lanes, so that the next decision on each boundary reads it whole.
    ///
    /// The stores call it in their `clear`. A lane notices by itself if the log was restored or
    /// emptied, except that a new event may have the position and the id of an old one. Call it also
    /// after `rebuild_keys` in another process: a lane may have read without the missing keys.
    ///
    /// ```
    /// # use dcb_core::{DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let course = Projector::counter(Query::builder().tag("course_id:c1").build()?);
    /// let model = DecisionModel::new(course);
    /// let enrolled = Event::builder("Enrolled").tag("course_id:c1").build()?;
    /// model.decide(&store, |_| Ok::<_, Error>(enrolled.clone())).await?;
    /// assert!(store.stats().lane_bytes > 0);
    /// store.lanes().expect("a store with lanes").forget();
    /// assert_eq!(store.stats().lane_bytes, 0);
    /// # Ok(()) }
    /// ```
    pub fn forget(&self) {
        self.cache.forget();
    }

    /// Fills in the counts of the lanes.
    pub fn add_to(&self, stats: Stats) -> Stats {
        self.cache.add_to(stats)
    }

    /// The number of boundaries on which a decision is under way.
    pub fn len(&self) -> usize {
        self.cache.busy()
    }

    /// Whether no decision is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until no other decision on this boundary is under way, in order of arrival. Until the
    /// turn is dropped, the other decisions of this store on this boundary wait, for at most
    /// [`Lanes::TURN_LIMIT`].
    ///
    /// Use it for a decision that you read and append yourself. It keeps decisions of this process
    /// from colliding; only the condition of the append makes the decision safe. Queries are the
    /// same boundary if they are equal.
    ///
    /// ```
    /// # use dcb_core::{AppendCondition, Error, Event, EventStore, MemoryStore, Query, ReadOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// let course = Query::builder().tag("course_id:c1").build()?;
    /// let lanes = store.lanes().expect("a store with lanes");
    /// let turn = lanes.turn(&course).await;
    /// let read = store.query(&course, ReadOptions::new()).await?;
    /// let enrolled = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// let unchanged = AppendCondition::fail_if(course).after(read.head);
    /// store.append_if(enrolled, unchanged).await?;
    /// drop(turn);
    /// # Ok(()) }
    /// ```
    pub async fn turn(&self, query: &Query) -> Turn {
        let seat = self.enter(&Reads::every(query.clone()));
        let number = seat.wait(Purpose::Alone).await;
        Turn { seat, number }
    }

    /// Takes a place in the line of the boundary's lane.
    pub(crate) fn enter(&self, reads: &Reads) -> Seat {
        let (lane, ticket) = self.cache.enter(reads, || self.new_lane(reads));
        lane.release();
        Seat {
            lane,
            called: Instant::now(),
            ticket: AtomicU64::new(ticket),
            _counted: self.metrics.enters_lane(),
        }
    }

    fn new_lane(&self, reads: &Reads) -> Arc<Lane> {
        let can_rest = self.cache.max_bytes > 0;
        let (query, upcasts) = (reads.clone().boundary(), self.upcasts.clone());
        let state = State::new(query, upcasts, can_rest, reads.kept.is_some());
        Arc::new(Lane {
            reads: Arc::new(reads.clone()),
            size_bytes: Lane::size_without_events(reads),
            state: Mutex::new(state),
            is_storing: AtomicBool::new(false),
            held: Mutex::default(),
            cache: Arc::downgrade(&self.cache),
        })
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Lanes")
            .field("len", &self.len())
            .finish()
    }
}

impl Lane {
    /// Ignores poisoning: no code under the lock can unwind half-way through a change.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, then wakes the member whose turn may have come.
    fn step(&self, change: impl FnOnce(&mut State) -> Option<Waker>) {
        let woken = change(&mut self.state());
        if let Some(waker) = woken {
            waker.wake();
        }
    }

    /// Ends the commit under way: answers its members, and returns the next append.
    pub(crate) fn settle(&self, result: Result<Option<Appended>, Error>) -> Option<Append> {
        let CommitEnd {
            next,
            answers,
            woken,
        } = self.state().settle(result);
        for (group, outcome) in answers {
            group.answer(&outcome);
        }
        if let Some(waker) = woken {
            waker.wake();
        }
        if next.is_none() {
            self.rest();
        }
        next
    }

    /// Rests, if no member is left.
    fn rest(&self) {
        // Look first without the lock of the cache, which all boundaries share.
        if !self.state().is_idle() {
            return;
        }
        if let Some(cache) = self.cache.upgrade() {
            cache.rest(self);
        }
    }

    /// A member has begun its turn, and needs to read or not.
    fn count_turn(&self, is_hit: bool) {
        if let Some(cache) = self.cache.upgrade() {
            cache.count_turn(is_hit);
        }
    }
}
