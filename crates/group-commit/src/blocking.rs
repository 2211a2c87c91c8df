use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::commit::{Commit, CommitBlocking, CommitError};
use crate::error::SubmitError;
use crate::inner::{Handover, Inner};
use crate::limits::Limits;
use crate::state::WhenFull;
use crate::stats::Stats;
use crate::submit::Submit;
use crate::sync::{Thread, current, has_passed, park, park_until, yield_now};

/// The result of [`BlockingQueue::submit`].
type BlockingOutcome<C> =
    Result<<C as CommitBlocking>::Verdict, SubmitError<<C as CommitBlocking>::Error>>;

/// The commit queue for threads.
///
/// A caller that finds the writer free commits its request on its own thread. Callers that arrive
/// during a commit park. When the commit ends, the longest-waiting caller wakes and commits the
/// next batch; then the callers of the last batch get their outcomes. A thread commits only the
/// batch that holds its own request.
pub struct BlockingQueue<C: CommitBlocking> {
    inner: Arc<Inner<OnCallersThread<C>>>,
}

impl<C: CommitBlocking> BlockingQueue<C> {
    /// A queue in front of `committer`.
    pub fn new(committer: C, limits: Limits) -> Self {
        Self {
            inner: Inner::new(
                OnCallersThread(committer),
                limits,
                Handover::NextCaller,
                Waker::wake_by_ref,
            ),
        }
    }

    /// Commits `request`. Blocks until the request has an outcome, including the time that it waits
    /// for space in a full queue.
    pub fn submit(&self, request: C::Request) -> BlockingOutcome<C> {
        self.run(request, WhenFull::Wait)
    }

    /// Commits `request` unless `deadline` passes first.
    ///
    /// After the deadline, a queued request is withdrawn and never written
    /// ([`SubmitError::TimedOut`]). The commit of a request in flight goes on, and its caller gets
    /// [`SubmitError::OutcomeUnknown`]. A caller that commits on its own thread returns when its
    /// commit ends.
    pub fn submit_until(&self, request: C::Request, deadline: Instant) -> BlockingOutcome<C> {
        if has_passed(deadline) {
            return Err(SubmitError::TimedOut);
        }
        let mut submit = Submit::new(&self.inner, request, WhenFull::Wait);
        block_on(
            |cx| match Pin::new(&mut submit).poll(cx) {
                Poll::Pending if has_passed(deadline) => Poll::Ready(submit.expire()),
                polled => polled,
            },
            || park_until(deadline),
        )
    }

    /// Commits `request` if the queue has room now; otherwise returns [`SubmitError::Full`].
    pub fn try_submit(&self, request: C::Request) -> BlockingOutcome<C> {
        self.run(request, WhenFull::Refuse)
    }

    /// Refuses new requests and returns when all waiting requests have an outcome. Calling it again
    /// waits in the same way.
    pub fn close(&self) {
        self.inner.close();
        block_on(|cx| self.inner.poll_idle(cx), park);
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// The committer, for work that needs no queue.
    pub fn committer(&self) -> &C {
        &self.inner.committer.0
    }

    /// The current counters.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn run(&self, request: C::Request, when_full: WhenFull) -> BlockingOutcome<C> {
        let mut submit = Submit::new(&self.inner, request, when_full);
        block_on(|cx| Pin::new(&mut submit).poll(cx), park)
    }
}

impl<C: CommitBlocking> fmt::Debug for BlockingQueue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingQueue")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Adapts a blocking committer. Its commit ends within the poll that starts it.
struct OnCallersThread<C>(C);

impl<C: CommitBlocking> Commit for OnCallersThread<C> {
    type Request = C::Request;
    type Verdict = C::Verdict;
    type Error = C::Error;

    fn size_bytes(&self, request: &C::Request) -> usize {
        self.0.size_bytes(request)
    }

    async fn commit(
        &self,
        batch: &mut [C::Request],
    ) -> Result<Vec<C::Verdict>, CommitError<C::Error>> {
        self.0.commit(batch)
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls on this thread until the result is ready.
fn block_on<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>, pause: impl Fn()) -> T {
    // The first poll uses a no-op waker, so that a caller that need not wait allocates no waker.
    if let Poll::Ready(output) = poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let waker = Waker::from(Arc::new(Unpark(current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = poll(&mut cx) {
            return output;
        }
        // A leader that lets its batch fill has unparked itself, so `pause` returns at once. Let
        // other threads run first.
        yield_now();
        pause();
    }
}
