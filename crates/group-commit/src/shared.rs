//! What the callers of one queue share: the state machine under its lock, and the committer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::Batch;
use crate::commit::Commit;
use crate::limits::Limits;
use crate::line::Ticket;
use crate::state::{Arrival, Manners, Release, State};
use crate::stats::Stats;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// How a leader passes its work on once its own request is decided.
pub(crate) enum Handover {
    /// To a task of its own, which commits until nobody waits. It also finishes what a leader that
    /// is dropped has begun.
    Spawn(Box<Spawn>),
    /// To the caller that has waited longest.
    Baton,
}

type Spawn = dyn Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync;

pub(crate) struct Shared<C: Commit> {
    pub(crate) committer: C,
    pub(crate) handover: Handover,
    pub(crate) fill_yields: u32,
    /// Has a waker woken later: once the tasks that are ready have run, where the runtime can tell.
    pub(crate) defer: fn(&Waker),
    state: Mutex<State<C>>,
}

impl<C: Commit> Shared<C> {
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

    pub(crate) fn arrive(&self, request: C::Request, manners: Manners) -> Arrival<C> {
        let bytes = self.committer.size_bytes(&request);
        self.state().arrive(request, bytes, manners)
    }

    /// Whether the request was still queued and is now out of it.
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

    /// Takes the right to commit that was promised to the caller.
    pub(crate) fn accept(&self) {
        self.state().accept();
    }

    /// The next batch, if anyone waits. The caller keeps the right to commit in any case.
    pub(crate) fn take_batch(&self) -> Option<Batch<C>> {
        self.state().take_batch()
    }

    /// The next batch, or the right to commit is given up.
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

    /// How many wait for the next batch; `None` where it is full.
    pub(crate) fn filling(&self) -> Option<usize> {
        self.state().filling()
    }

    /// Whether callers come together, as far as the last batches tell.
    pub(crate) fn is_crowded(&self) -> bool {
        self.state().is_crowded()
    }

    /// Passes the right to commit to the first waiter. False, and it is kept, where nobody waits.
    pub(crate) fn promise(&self) -> bool {
        let promised = self.state().promise();
        if let Some(slot) = &promised {
            slot.promote();
        }
        promised.is_some()
    }

    /// Gives up the right to commit.
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

    /// Poisoned or not: a step of the state machine has no half-way point to unwind from.
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
