//! The place of a member in a lane, and its turn.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use store_meter::Share;

use super::Lane;
#[cfg(feature = "sqlite")]
use super::blocking::block_on;
use super::drive;
use super::group::Decision;
use super::known::{Folded, Unfolded};
use super::line::{Ticket, TurnLost};
use super::state::{Next, Purpose, Start};
use crate::trace::stamped;
use crate::{Bookmark, KeptState, SequencedEvent};

/// A member of a lane. Dropping it leaves the lane.
pub(crate) struct Seat {
    pub(crate) lane: Arc<Lane>,
    pub(super) called: Instant,
    pub(super) ticket: AtomicU64,
    pub(super) _counted: Share,
}

impl Seat {
    /// Waits for the turn to decide.
    pub(crate) async fn turn(&self, purpose: Purpose) -> Decider<'_> {
        let number = self.wait(purpose).await;
        Decider { seat: self, number }
    }

    /// [`Seat::turn`] for a thread. `None` if the deadline passes first.
    #[cfg(feature = "sqlite")]
    pub(crate) fn turn_blocking(&self, purpose: Purpose, deadline: Instant) -> Option<Decider<'_>> {
        let number = block_on(Some(deadline), |cx| {
            let turn = self.poll_turn(purpose, cx);
            if turn.is_pending() {
                self.lane.step(|state| state.line.overtake());
            }
            turn
        });
        number.map(|number| Decider { seat: self, number })
    }

    pub(super) async fn wait(&self, purpose: Purpose) -> u64 {
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

    /// Takes a place in the line again, after a turn that brought no decision.
    pub(crate) fn rejoin(&self, lost: &TurnLost) {
        match lost {
            TurnLost::Overtaken => self.go_to_the_end(),
            TurnLost::Outdated => self.decide_again(),
        }
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
        self.lane.step(|state| state.leave(self.ticket()));
        self.lane.rest();
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

    /// What to do before the decision. `None` if the turn was overtaken. The first call of a turn counts
    /// it: as a hit if the member needs no read.
    pub(crate) fn begin(&self, folded: &mut Folded) -> Option<Start> {
        let begun = self.seat.lane.state().begin(self.number, folded);
        let (start, is_first) = begun?;
        if is_first {
            self.seat.lane.count_turn(matches!(start, Start::Fold(_)));
        }
        Some(start)
    }

    /// The read of this member makes progress.
    pub(crate) fn extend(&self, limit: Duration) {
        self.seat.lane.state().line.extend_turn(self.number, limit);
    }

    /// Gives the state that this member has folded to the lane, if it wants it instead of the events.
    pub(crate) fn keep(&self, state: impl FnOnce() -> Option<KeptState>) {
        // Not under the lock: this copies the state.
        if self.seat.lane.state().wants_state(self.number) {
            let state = state();
            self.seat.lane.state().fold_into(self.number, state);
        }
    }

    /// The member has folded the events of its read into this state, and the lane keeps only that.
    pub(crate) fn start_from(
        &self,
        begun: Instant,
        state: KeptState,
        head: Option<Bookmark>,
        read: usize,
    ) {
        let mut lane = self.seat.lane.state();
        lane.start_from(begun, self.number, state, head, read);
    }

    /// The events up to `bookmark` lead to this state, if the log still has them.
    pub(crate) fn resume_from(&self, state: KeptState, bookmark: Bookmark) {
        let mut lane = self.seat.lane.state();
        lane.resume_from(self.number, state, bookmark);
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
    pub(crate) fn decide(self, mut decision: Decision) -> Result<Next, TurnLost> {
        // Here, because the commit may run in the span of another member.
        decision.events = stamped(decision.events);
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
    pub(super) seat: Seat,
    pub(super) number: u64,
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
