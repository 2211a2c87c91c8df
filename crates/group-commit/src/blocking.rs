use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use store_meter::QueueMeter;

use crate::batch::{SlotOf, outcome_so_far, settle};
use crate::commit::{Commit, CommitBlocking, CommitError};
use crate::error::SubmitError;
use crate::inner::Inner;
use crate::limits::Limits;
use crate::slot::{Notice, Slot};
use crate::state::{Arrival, WhenFull};
use crate::stats::Stats;
use crate::sync::{Thread, current, has_passed, park, park_until, yield_now};
use crate::wait_queue::Ticket;

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
    inner: Inner<OnCallersThread<C>>,
}

impl<C: CommitBlocking> BlockingQueue<C> {
    /// A queue in front of `committer`.
    pub fn new(committer: C, limits: Limits) -> Self {
        Self {
            inner: Inner::new(OnCallersThread(committer), limits),
        }
    }

    /// Commits `request`. Blocks until the request has an outcome, including the time that it waits
    /// for space in a full queue.
    pub fn submit(&self, request: C::Request) -> BlockingOutcome<C> {
        self.run(request, WhenFull::Wait, None)
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
        self.run(request, WhenFull::Wait, Some(deadline))
    }

    /// Commits `request` if the queue has room now; otherwise returns [`SubmitError::Full`].
    pub fn try_submit(&self, request: C::Request) -> BlockingOutcome<C> {
        self.run(request, WhenFull::Refuse, None)
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

    fn run(
        &self,
        request: C::Request,
        when_full: WhenFull,
        deadline: Option<Instant>,
    ) -> BlockingOutcome<C> {
        let (ticket, slot) = match self.inner.arrive(request, when_full) {
            Arrival::Lead(_, slot) => return self.lead(&slot),
            Arrival::Wait(ticket, slot) => (ticket, slot),
            Arrival::Full => return Err(SubmitError::Full),
            Arrival::Closed => return Err(SubmitError::Closed),
        };
        match wait(&slot, deadline) {
            Some(Notice::Outcome(outcome)) => outcome,
            Some(Notice::Lead) => {
                self.fill();
                self.lead(&slot)
            }
            None => self.expire(ticket, &slot),
        }
    }

    /// Commits the next batch. This caller's request is the first in the queue, so the batch
    /// contains it.
    ///
    /// The right to commit goes to a waiting caller before the outcomes are delivered, so the next
    /// commit need not wait for the deliveries. If no caller waits, the outcomes are delivered
    /// first, because `close` returns once the right is free.
    fn lead(&self, slot: &SlotOf<OnCallersThread<C>>) -> BlockingOutcome<C> {
        let right = Right(&self.inner);
        if let Some(batch) = self.inner.take_batch() {
            let undelivered = run_here(settle(&self.inner.committer, batch));
            if self.inner.hand_over() {
                std::mem::forget(right);
            }
            drop(undelivered.deliver());
        }
        outcome_so_far::<OnCallersThread<C>>(slot)
    }

    /// Lets the callers of the last batch join the next one.
    fn fill(&self) {
        for _ in 0..self.inner.fill_yields {
            if self.inner.filling().is_none() {
                return;
            }
            yield_now();
        }
    }

    /// Withdraws a request that is still queued.
    fn expire(&self, ticket: Ticket, slot: &SlotOf<OnCallersThread<C>>) -> BlockingOutcome<C> {
        let Some(withdrawn) = self.inner.withdraw(ticket) else {
            return outcome_so_far::<OnCallersThread<C>>(slot);
        };
        // The caller may have got the right to commit just before its deadline. Check this before
        // dropping the request, because dropping it overwrites the notice.
        if slot.is_called_to_lead() {
            self.inner.hand_over_or_release();
        }
        drop(withdrawn);
        Err(SubmitError::TimedOut)
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

    fn deadline(&self, request: &C::Request) -> Option<Instant> {
        self.0.deadline(request)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        self.0.meter()
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

/// The right to commit of this thread. Dropping it passes it on, even if the thread unwinds.
struct Right<'q, C: Commit>(&'q Inner<C>);

impl<C: Commit> Drop for Right<'_, C> {
    fn drop(&mut self) {
        self.0.hand_over_or_release();
    }
}

/// Waits for a notice. `None` if the deadline passes first.
fn wait<V, E>(slot: &Slot<V, E>, deadline: Option<Instant>) -> Option<Notice<V, E>> {
    block_on(
        |cx| match slot.poll(cx) {
            Poll::Ready(notice) => Poll::Ready(Some(notice)),
            Poll::Pending if deadline.is_some_and(has_passed) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        },
        || match deadline {
            Some(deadline) => park_until(deadline),
            None => park(),
        },
    )
}

/// Polls on this thread until the result is ready.
fn block_on<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>, pause: impl Fn()) -> T {
    let waker = Waker::from(Arc::new(Unpark(current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = poll(&mut cx) {
            return output;
        }
        // A short commit may end before this thread has to park.
        yield_now();
        pause();
    }
}

/// Runs a commit on this thread. It never waits, so the first poll ends it.
fn run_here<T>(commit: impl Future<Output = T>) -> T {
    let mut commit = pin!(commit);
    loop {
        let polled = commit
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(output) = polled {
            return output;
        }
    }
}
