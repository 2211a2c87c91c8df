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
//! 4. The events join a group ([`group`]). If no commit is under way, this member begins one, which a
//!    spawned task continues ([`drive`]).
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
//! - A lane disappears when it has no members.
//!
//! Tested by `lanes.rs` of `dcb-conformance`.

mod drive;
mod group;
mod known;
mod line;
mod pause;
mod state;

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
#[cfg(feature = "sqlite")]
use std::task::Wake;
use std::task::{Context, Poll, Waker};
#[cfg(feature = "sqlite")]
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use drive::drive;
pub(crate) use group::{Answer, Decision, Outcome};
use known::Known;
pub(crate) use known::{Folded, Unfolded};
use line::Ticket;
pub(crate) use line::TurnLost;
pub(crate) use pause::pause;
pub(crate) use state::{Next, Start};
use state::{Purpose, Settled, State};

use store_meter::Share;

use crate::{Append, Appended, Bookmark, Error, Metrics, Query, Reads, SequencedEvent};

/// The lanes of a store: one for each boundary on which a decision is under way.
///
/// A store that has `Lanes` returns them from [`EventStore::lanes`](crate::EventStore::lanes). Then
/// [`DecisionModel`](crate::DecisionModel) and [`CommandExecutor`](crate::CommandExecutor) use them.
/// Clones share the lanes.
#[derive(Clone, Default)]
pub struct Lanes {
    by_reads: Arc<ByReads>,
    metrics: Metrics,
}

#[derive(Default)]
struct ByReads(Mutex<HashMap<Arc<Reads>, Arc<Lane>>>);

/// The decisions under way on one boundary.
pub(crate) struct Lane {
    reads: Arc<Reads>,
    state: Mutex<State>,
    lanes: Weak<ByReads>,
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

    /// Creates the lanes of a store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the lanes of a store whose decisions are recorded.
    pub(crate) fn measured(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// The number of boundaries on which a decision is under way.
    pub fn len(&self) -> usize {
        self.by_reads.lock().len()
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

    /// [`Lanes::turn`] for a thread. `None` if the deadline passes first.
    #[cfg(feature = "sqlite")]
    pub(crate) fn turn_blocking(&self, reads: &Reads, deadline: Instant) -> Option<Turn> {
        let seat = self.enter(reads);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(number) = seat.poll_turn(Purpose::Alone, &mut cx) {
                return Some(Turn { seat, number });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left.min(Self::TURN_LIMIT));
            seat.lane.step(|state| state.line.overtake());
        }
    }

    /// Takes a place in the line of the boundary's lane.
    pub(crate) fn enter(&self, reads: &Reads) -> Seat {
        let mut lanes = self.by_reads.lock();
        let lane = match lanes.get(reads) {
            Some(lane) => Arc::clone(lane),
            None => {
                let reads = Arc::new(reads.clone());
                let lane = Lane::new(Arc::clone(&reads), Arc::downgrade(&self.by_reads));
                lanes.insert(reads, Arc::clone(&lane));
                lane
            }
        };
        // Before the lock is released: a lane without members could be removed.
        let ticket = lane.state().line.arrive();
        Seat {
            lane,
            called: Instant::now(),
            ticket: AtomicU64::new(ticket),
            _counted: self.metrics.enters_lane(),
        }
    }
}

#[cfg(feature = "sqlite")]
struct Unpark(thread::Thread);

#[cfg(feature = "sqlite")]
impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
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

impl ByReads {
    /// Ignores poisoning: no code under the lock can unwind half-way through a change.
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Reads>, Arc<Lane>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn new(reads: Arc<Reads>, lanes: Weak<ByReads>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::new(Reads::clone(&reads).boundary())),
            reads,
            lanes,
        })
    }

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
        let Settled {
            next,
            answers,
            woken,
        } = self.state().settle(result);
        for (group, verdict) in answers {
            group.answer(&verdict);
        }
        if let Some(waker) = woken {
            waker.wake();
        }
        if next.is_none() {
            self.remove_if_idle();
        }
        next
    }

    fn remove_if_idle(&self) {
        // Look first without the lock of the map, which all boundaries share.
        if !self.state().is_idle() {
            return;
        }
        let Some(lanes) = self.lanes.upgrade() else {
            return;
        };
        let mut lanes = lanes.lock();
        // The map may already have another lane of this query.
        let is_listed = lanes
            .get(&self.reads)
            .is_some_and(|lane| std::ptr::eq(&**lane, self));
        if is_listed && self.state().is_idle() {
            lanes.remove(&self.reads);
        }
    }
}

/// A member of a lane. Dropping it leaves the lane.
pub(crate) struct Seat {
    pub(crate) lane: Arc<Lane>,
    called: Instant,
    ticket: AtomicU64,
    _counted: Share,
}

impl Seat {
    /// Waits for the turn to decide.
    pub(crate) async fn turn(&self) -> Decider<'_> {
        let number = self.wait(Purpose::Decide).await;
        Decider { seat: self, number }
    }

    async fn wait(&self, purpose: Purpose) -> u64 {
        let turn = poll_fn(|cx| self.poll_turn(purpose, cx));
        drive::in_turn(&self.lane, turn).await
    }

    fn poll_turn(&self, purpose: Purpose, cx: &mut Context<'_>) -> Poll<u64> {
        self.lane.state().poll_turn(self.ticket(), purpose, cx)
    }

    /// Takes the same place in the line again.
    pub(crate) fn decide_again(&self) {
        self.lane.state().line.return_to(self.ticket());
    }

    /// Takes the last place in the line.
    pub(crate) fn go_to_the_end(&self) {
        let ticket = self.lane.state().line.arrive();
        // Relaxed: only the task of this member uses it.
        self.ticket.store(ticket, Ordering::Relaxed);
    }

    fn ticket(&self) -> Ticket {
        self.ticket.load(Ordering::Relaxed)
    }

    /// The events in the log that the lane knows, beyond `folded`.
    pub(crate) fn committed(&self, folded: &mut Folded) -> Unfolded {
        self.lane.state().committed(folded)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.lane.step(|state| state.line.leave(self.ticket()));
        self.lane.remove_if_idle();
    }
}

/// The right to decide next on a boundary. Dropping it without a decision passes it on.
pub(crate) struct Decider<'s> {
    seat: &'s Seat,
    number: u64,
}

impl<'s> Decider<'s> {
    pub(crate) fn seat(&self) -> &'s Seat {
        self.seat
    }

    /// What to do before the decision. `None` if the turn was overtaken.
    pub(crate) fn begin(&self, folded: &mut Folded) -> Option<Start> {
        self.seat.lane.state().begin(self.number, folded)
    }

    /// The read of this member makes progress.
    pub(crate) fn extend(&self, limit: Duration) {
        self.seat.lane.state().line.extend_turn(self.number, limit);
    }

    /// The log was replaced.
    pub(crate) fn forget(&self) {
        self.seat.lane.state().forget(self.number);
    }

    /// Adds what a read that began at `begun` has found after `after`, up to `head`.
    pub(crate) fn add_read(
        &self,
        begun: Instant,
        after: Option<Bookmark>,
        events: Vec<SequencedEvent>,
        head: Option<Bookmark>,
    ) {
        let mut state = self.seat.lane.state();
        state.add_read(begun, after, events, head);
    }

    /// The member has folded the events of its read, and the lane does not keep them.
    pub(crate) fn read_alone(&self, begun: Instant, head: Option<Bookmark>) {
        let mut state = self.seat.lane.state();
        state.read_alone(begun, self.number, head);
    }

    /// Records the decision and ends the turn.
    pub(crate) fn decide(self, decision: Decision) -> Result<Next, TurnLost> {
        let Seat { lane, called, .. } = self.seat;
        let (next, woken) = lane.state().decide(self.number, *called, decision)?;
        if let Some(waker) = woken {
            waker.wake();
        }
        Ok(next)
    }
}

impl Drop for Decider<'_> {
    fn drop(&mut self) {
        self.seat
            .lane
            .step(|state| state.line.end_turn(self.number));
    }
}

/// The only decision under way on a boundary. Dropping it lets the next one begin.
#[must_use]
pub struct Turn {
    seat: Seat,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.seat.lane.step(|state| state.end_alone(self.number));
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Turn")
            .field("reads", &self.seat.lane.reads)
            .finish_non_exhaustive()
    }
}
