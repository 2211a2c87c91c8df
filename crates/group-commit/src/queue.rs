use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
#[cfg(feature = "tokio")]
use std::task::Context;
use std::task::{Poll, Waker};

use crate::Outcome;
use crate::commit::Commit;
use crate::drive::Driver;
use crate::error::SubmitError;
use crate::inner::Inner;
use crate::limits::Limits;
use crate::state::WhenFull;
use crate::stats::Stats;
use crate::submit::Submit;

/// The async commit queue.
///
/// A caller that finds the writer free starts the commit while it is polled. A commit that ends
/// within that poll, such as one to memory, costs two allocations and no task. Otherwise a spawned
/// task finishes the commit, and then commits batch after batch until no request waits.
/// [`Limits::fill_yields`] decides whether the task answers the callers of a batch before or after
/// it starts the next one.
///
/// A request arrives when its `submit` future is first polled, and requests are committed in order
/// of arrival. The future only waits for the outcome: one that is held and not polled delays no
/// other caller.
///
/// Dropping a submit future withdraws a request that is still queued. A request in flight is
/// committed nevertheless.
pub struct Queue<C: Commit> {
    driver: Arc<Driver<C>>,
}

impl<C: Commit> Queue<C> {
    /// A queue that spawns its tasks on the tokio runtime of the caller. Outside a runtime, it
    /// spawns them on the runtime in which `new` was called.
    ///
    /// If there is no runtime, or it shuts down, a commit that has begun is dropped. The callers of
    /// its batch get [`SubmitError::OutcomeUnknown`], and the queue goes on with the next batch.
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

    /// A queue on any runtime. `spawn` runs a future to its end in the background. If it drops a
    /// future early, the callers of the batch in flight get [`SubmitError::OutcomeUnknown`]. The
    /// next caller that arrives or is polled goes on with the other requests.
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
        let inner = Inner::new(committer, limits);
        Self {
            driver: Driver::new(inner, Box::new(spawn), defer),
        }
    }

    /// Commits `request`. Waits for space if the queue is full, and then for the request's outcome.
    pub async fn submit(&self, request: C::Request) -> Outcome<C> {
        Submit::new(&self.driver, request, WhenFull::Wait).await
    }

    /// Commits `request` unless `deadline`, such as `tokio::time::sleep`, completes first.
    ///
    /// After the deadline, a queued request is withdrawn and never written
    /// ([`SubmitError::TimedOut`]). The commit of a request in flight goes on, and its caller gets
    /// [`SubmitError::OutcomeUnknown`].
    pub async fn submit_until(
        &self,
        request: C::Request,
        deadline: impl Future<Output = ()>,
    ) -> Outcome<C> {
        let mut deadline = pin!(deadline);
        let mut submit = Submit::new(&self.driver, request, WhenFull::Wait);
        poll_fn(|cx| {
            // A request past its deadline must not arrive. This poll also registers the task with
            // the deadline, so that the deadline wakes the task.
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

    /// Commits `request` if the queue has room now; otherwise returns [`SubmitError::Full`].
    pub async fn try_submit(&self, request: C::Request) -> Outcome<C> {
        Submit::new(&self.driver, request, WhenFull::Refuse).await
    }

    /// Refuses new requests from the first poll on, and returns when all waiting requests have an
    /// outcome. Calling it again waits in the same way. Dropping the future leaves the queue
    /// closed.
    pub async fn close(&self) {
        self.driver.inner.close();
        poll_fn(|cx| self.driver.inner.poll_idle(cx)).await;
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.driver.inner.is_closed()
    }

    /// The committer, for work that needs no queue.
    pub fn committer(&self) -> &C {
        &self.driver.inner.committer
    }

    /// The current counters.
    pub fn stats(&self) -> Stats {
        self.driver.inner.stats()
    }
}

/// Wakes `waker` through tokio's list of deferred tasks.
///
/// If many tasks are woken one by one, the first wake-up notifies another worker thread, which
/// finds little to do, sleeps again, and is notified by the next wake-up. tokio wakes deferred
/// tasks when it polls for I/O, and then notifies another worker once, after all of them are ready.
#[cfg(feature = "tokio")]
fn defer_on_tokio(waker: &Waker) {
    let polled = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(waker));
    debug_assert!(polled.is_pending(), "a yield is pending on its first poll");
}

impl<C: Commit> fmt::Debug for Queue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
