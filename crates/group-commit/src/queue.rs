use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::task::Context;
use std::task::{Poll, Waker};

use crate::Outcome;
use crate::commit::Commit;
use crate::error::SubmitError;
use crate::limits::Limits;
use crate::shared::{Handover, Shared};
use crate::state::Manners;
use crate::stats::Stats;
use crate::submit::Submit;

/// The async commit queue.
///
/// A caller that finds the writer free commits its request in its own task: two allocations, and no
/// other thread has to be woken. Under contention a spawned task commits batch after batch until
/// nobody waits; [`Limits::fill_yields`] says when it answers the callers of a batch, and when it
/// takes the next.
///
/// Requests arrive when their `submit` future is first polled, and are committed in that order.
/// From then on the future must be polled to its end or dropped: it may be the one that drives the
/// commit for all.
///
/// Dropping a submit future withdraws a request that is still queued. One that is in flight is
/// committed all the same, in a spawned task if the caller was driving it.
pub struct Queue<C: Commit> {
    shared: Arc<Shared<C>>,
}

impl<C: Commit> Queue<C> {
    /// A queue that finishes commits on the tokio runtime of the caller at hand; where there is
    /// none, because a future is dropped outside it, on the runtime that surrounds this call.
    ///
    /// With no runtime in either place, or one that is shut down, a commit whose caller is dropped
    /// is dropped too, and the callers of its batch get [`SubmitError::OutcomeUnknown`].
    #[cfg(feature = "tokio")]
    pub fn new(committer: C, limits: Limits) -> Self {
        let home = tokio::runtime::Handle::try_current().ok();
        let spawn = move |drive| {
            let here = tokio::runtime::Handle::try_current().ok();
            if let Some(runtime) = here.as_ref().or(home.as_ref()) {
                runtime.spawn(drive);
            }
        };
        Self::on_runtime(committer, limits, spawn, defer_on_tokio)
    }

    /// A queue on any runtime. `spawn` runs a future to its end in the background; if it drops one
    /// early, the callers of the batch in flight get [`SubmitError::OutcomeUnknown`] and the queue
    /// goes on with the next waiter.
    pub fn with_spawner<S>(committer: C, limits: Limits, spawn: S) -> Self
    where
        S: Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync + 'static,
    {
        Self::on_runtime(committer, limits, spawn, Waker::wake_by_ref)
    }

    fn on_runtime<S>(committer: C, limits: Limits, spawn: S, defer: fn(&Waker)) -> Self
    where
        S: Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync + 'static,
    {
        let handover = Handover::Spawn(Box::new(spawn));
        Self {
            shared: Shared::new(committer, limits, handover, defer),
        }
    }

    /// Commits `request`, and waits in line for room and for its turn.
    pub async fn submit(&self, request: C::Request) -> Outcome<C> {
        Submit::new(&self.shared, request, Manners::Wait).await
    }

    /// Commits `request` unless `deadline`, such as `tokio::time::sleep`, is done first.
    ///
    /// Past the deadline a queued request is withdrawn ([`SubmitError::TimedOut`], nothing is
    /// written); of one in flight the caller is told [`SubmitError::OutcomeUnknown`] while the
    /// commit goes on.
    pub async fn submit_until(
        &self,
        request: C::Request,
        deadline: impl Future<Output = ()>,
    ) -> Outcome<C> {
        let mut deadline = pin!(deadline);
        let mut submit = Submit::new(&self.shared, request, Manners::Wait);
        poll_fn(|cx| {
            // What is late must not arrive. This look has the task woken at the deadline, too.
            let is_first = !submit.has_arrived();
            if is_first && deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(SubmitError::TimedOut));
            }
            match Pin::new(&mut submit).poll(cx) {
                Poll::Pending if is_first => Poll::Pending,
                Poll::Pending => deadline.as_mut().poll(cx).map(|()| submit.expire()),
                decided => decided,
            }
        })
        .await
    }

    /// Commits `request` if there is room in the queue now, else [`SubmitError::Full`].
    pub async fn try_submit(&self, request: C::Request) -> Outcome<C> {
        Submit::new(&self.shared, request, Manners::TurnAway).await
    }

    /// Refuses new requests from the first poll on and returns when those already in line are
    /// decided. Every call does; dropping the future leaves the queue closed.
    pub async fn close(&self) {
        self.shared.close();
        poll_fn(|cx| self.shared.poll_idle(cx)).await;
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// The committer, for what needs no queue.
    pub fn committer(&self) -> &C {
        &self.shared.committer
    }

    /// The counters of this moment.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }
}

/// Woken one by one, the first of many tasks would call another worker thread of the runtime, which
/// finds little to do, goes back to sleep and is called again by the next. What tokio defers it wakes
/// where it looks for I/O: there it calls for help once, after all are ready.
#[cfg(feature = "tokio")]
fn defer_on_tokio(waker: &Waker) {
    let polled = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(waker));
    debug_assert!(polled.is_pending(), "to yield is to be polled twice");
}

impl<C: Commit> fmt::Debug for Queue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
