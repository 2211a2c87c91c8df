//! State that the callers of one queue share: the state machine under its lock, and the committer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::Batch;
use crate::commit::Commit;
use crate::limits::Limits;
use crate::state::{Arrival, Release, State, WhenFull};
use crate::stats::Stats;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::wait_queue::Ticket;

/// How a leader passes on its work once its own request has an outcome.
pub(crate) enum Handover {
    /// To a spawned task, which commits until no request waits. It also finishes the commit of a
    /// leader that is dropped.
    Spawn(Box<Spawn>),
    /// To the longest-waiting caller.
    NextCaller,
}

type Spawn = dyn Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync;

pub(crate) struct Inner<C: Commit> {
    pub(crate) committer: C,
    pub(crate) handover: Handover,
    pub(crate) fill_yields: u32,
    /// Wakes a waker. On tokio, it does so later, after the tasks that are ready now have run.
    pub(crate) defer: fn(&Waker),
    state: Mutex<State<C>>,
}

impl<C: Commit> Inner<C> {
    pub(crate) fn new(
        committer: C,
        limits: Limits,
        handover: Handover,
        defer: fn(&Waker),
    ) -> Arc<Self> {
        let fill_yields = limits.fill_yields;
        Arc::new(Self {
            committer,
            handover,
            fill_yields,
            defer,
            state: Mutex::new(State::new(limits)),
        })
    }

    pub(crate) fn arrive(&self, request: C::Request, when_full: WhenFull) -> Arrival<C> {
        let bytes = self.committer.size_bytes(&request);
        self.state().arrive(request, bytes, when_full)
    }

    /// Removes a queued request. False if it is in a batch already.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> bool {
        let withdrawn = self.state().withdraw(ticket);
        let Some((_pending, release)) = withdrawn else {
            return false;
        };
        if let Some(release) = release {
            wake(release);
        }
        true
    }

    /// Takes the right to commit that was promised to this caller.
    pub(crate) fn accept(&self) {
        self.state().accept();
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
            let release = state.release();
            drop(state);
            wake(release);
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
    pub(crate) fn promise(&self) -> bool {
        let promised = self.state().promise();
        if let Some(slot) = &promised {
            slot.promote();
        }
        promised.is_some()
    }

    /// Releases the right to commit.
    pub(crate) fn release(&self) {
        let release = self.state().release();
        wake(release);
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

fn wake<C: Commit>(release: Release<C>) {
    match release {
        Release::Promote(slot) => slot.promote(),
        Release::Idle(wakers) => wakers.into_iter().for_each(Waker::wake),
    }
}
