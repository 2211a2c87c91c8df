//! State that the callers of one queue share: the state machine under its lock, and the committer.

use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Pending};
use crate::commit::Commit;
use crate::limits::Limits;
use crate::state::{Arrival, State, WhenFull};
use crate::stats::Stats;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::wait_queue::Ticket;

pub(crate) struct Inner<C: Commit> {
    pub(crate) committer: C,
    pub(crate) fill_yields: u32,
    state: Mutex<State<C>>,
}

impl<C: Commit> Inner<C> {
    pub(crate) fn new(committer: C, limits: Limits) -> Self {
        Self {
            committer,
            fill_yields: limits.fill_yields,
            state: Mutex::new(State::new(limits)),
        }
    }

    pub(crate) fn arrive(&self, request: C::Request, when_full: WhenFull) -> Arrival<C> {
        let bytes = self.committer.size_bytes(&request);
        self.state().arrive(request, bytes, when_full)
    }

    /// Takes the right to commit if it is free and a request waits.
    pub(crate) fn take_right(&self) -> bool {
        self.state().take_right()
    }

    /// Removes a queued request. `None` if it is in a batch already.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> Option<Pending<C>> {
        let (pending, wakers) = self.state().withdraw(ticket)?;
        wake(wakers);
        Some(pending)
    }

    /// The next batch, if any request waits. The caller keeps the right to commit in either case.
    pub(crate) fn take_batch(&self) -> Option<Batch<C>> {
        self.state().take_batch()
    }

    /// The next batch. If no request waits, releases the right to commit.
    pub(crate) fn take_batch_or_release(&self) -> Option<Batch<C>> {
        let mut state = self.state();
        let batch = state.take_batch();
        if batch.is_none() {
            let wakers = state.release();
            drop(state);
            wake(wakers);
        }
        batch
    }

    /// How many requests wait for the next batch. `None` if the batch is full.
    pub(crate) fn filling(&self) -> Option<usize> {
        self.state().filling()
    }

    /// Whether one of the last two batches had several callers.
    pub(crate) fn callers_arrive_together(&self) -> bool {
        self.state().callers_arrive_together()
    }

    /// Passes the right to commit to the first waiting caller. False if no caller waits; then this
    /// leader keeps the right.
    pub(crate) fn hand_over(&self) -> bool {
        let wakers = self.state().hand_over();
        let is_passed_on = wakers.is_some();
        wake(wakers.unwrap_or_default());
        is_passed_on
    }

    /// Passes the right to commit to the first waiting caller, or releases it if no caller waits.
    pub(crate) fn hand_over_or_release(&self) {
        let mut state = self.state();
        let wakers = state.hand_over().unwrap_or_else(|| state.release());
        drop(state);
        wake(wakers);
    }

    /// Releases the right to commit. If requests wait, each of their callers may take it.
    pub(crate) fn release(&self) {
        let wakers = self.state().release();
        wake(wakers);
    }

    pub(crate) fn close(&self) {
        self.state().close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed()
    }

    pub(crate) fn poll_idle(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.state().poll_idle(cx)
    }

    pub(crate) fn stats(&self) -> Stats {
        self.state().stats()
    }

    /// Ignores poisoning: no step of the state machine can unwind half-way through.
    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
