//! The leader: the task that holds the right to commit.
//!
//! Before a leader commits, it may yield to other tasks, so that more callers can join its batch.
//! The leader yields only if callers have recently arrived together, and stops once the callers of
//! the last batch have submitted again. A lone caller never yields, because one yield costs it
//! about 10 us.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Settled, settle};
use crate::commit::Commit;
use crate::inner::{Handover, Inner};

/// Maximum number of steps in one poll. Without this limit, a commit that is always ready would
/// block the other tasks on its thread and delay the leader's own outcome.
const STEPS_PER_POLL: usize = 8;

/// Commits batch after batch until no request waits. The leader polls this future first. When the
/// leader has its outcome or is dropped, the future moves to a spawned task.
pub(crate) struct Drive<C: Commit> {
    inner: Arc<Inner<C>>,
    stage: Stage<C>,
    /// The batch before the one in flight, until its callers are woken. That happens after the
    /// commit in flight has started.
    settled: Option<Box<Settled<C>>>,
    /// The requests of the last batch whose callers were woken. Dropping many requests is slow, so
    /// they are dropped after the next commit has started.
    spent: Vec<C::Request>,
}

enum Stage<C: Commit> {
    /// Yields to other tasks for a while, then takes a batch.
    Fill(FillWait),
    Commit(Pin<Box<dyn Future<Output = Settled<C>> + Send>>),
    /// The right to commit has been given up.
    Done,
}

/// How long the leader yields to other tasks before it takes a batch.
#[derive(Clone, Copy)]
struct FillWait {
    /// How many more times it yields.
    yields_left: u32,
    /// The leader stops yielding once this many requests wait. `None` if it expects no particular
    /// number.
    expected: Option<usize>,
    /// The most requests seen waiting. A larger number restores `yields_left`, because more callers
    /// may be on their way. `None` if arrivals do not restore it.
    seen: Option<usize>,
}

impl FillWait {
    const NONE: Self = Self::yields(0);

    /// Yields this many times, no matter how many requests arrive.
    const fn yields(yields: u32) -> Self {
        Self {
            yields_left: yields,
            expected: None,
            seen: None,
        }
    }

    /// The remaining wait when `waiting` requests are queued. `None` if the leader must stop
    /// yielding.
    fn after(self, waiting: usize, yields: u32) -> Option<Self> {
        if self.expected.is_some_and(|expected| waiting >= expected) {
            return None;
        }
        let yields_left = if self.seen.is_some_and(|seen| waiting > seen) {
            yields
        } else {
            self.yields_left.checked_sub(1)?
        };
        Some(Self {
            yields_left,
            seen: self.seen.map(|seen| seen.max(waiting)),
            ..self
        })
    }
}

/// A drive pins only its commit, which is boxed.
impl<C: Commit> Unpin for Drive<C> {}

impl<C: Commit> Drive<C> {
    /// A drive for a caller that found the writer free. If recent batches had several callers, the
    /// drive first yields to callers that may be about to arrive.
    pub(crate) fn lead(inner: &Arc<Inner<C>>) -> Self {
        let wait = match inner.handover {
            Handover::Spawn(_) if inner.callers_arrive_together() => FillWait {
                // The caller's own request is in the queue already.
                seen: Some(1),
                ..FillWait::yields(inner.fill_yields)
            },
            // Threads run in parallel and queue up during the commit, so yielding to them would
            // only delay it.
            Handover::Spawn(_) | Handover::NextCaller => FillWait::NONE,
        };
        Self::filling(inner, wait)
    }

    /// A drive for a promoted caller, which got the right to commit from the last leader.
    pub(crate) fn promoted(inner: &Arc<Inner<C>>) -> Self {
        inner.accept();
        Self::filling(inner, FillWait::yields(inner.fill_yields))
    }

    fn filling(inner: &Arc<Inner<C>>, wait: FillWait) -> Self {
        Self {
            inner: Arc::clone(inner),
            stage: Stage::Fill(wait),
            settled: None,
            spent: Vec::new(),
        }
    }

    /// Moves the drive to a spawned task if there is more to do. A queue without spawned tasks
    /// drops the drive instead, which passes on the right to commit.
    pub(crate) fn detach(self) {
        if matches!(self.stage, Stage::Done) {
            return;
        }
        let inner = Arc::clone(&self.inner);
        if let Handover::Spawn(spawn) = &inner.handover {
            spawn(Box::pin(self));
        }
    }

    fn fill(&mut self, wait: FillWait, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.inner.filling();
        let left = waiting.and_then(|waiting| wait.after(waiting, self.inner.fill_yields));
        if let Some(left) = left {
            self.stage = Stage::Fill(left);
            self.yield_to_others(left, cx.waker());
            return Poll::Pending;
        }
        self.stage = match self.inner.take_batch_or_release() {
            Some(batch) => start(&self.inner, batch),
            None => Stage::Done,
        };
        Poll::Ready(())
    }

    /// Yields to other tasks, and on the last yield to other threads too. The kernel often places a
    /// woken thread on the processor of the thread that woke it. Without the yield, the woken
    /// thread and its callers would wait until this thread blocks.
    fn yield_to_others(&self, left: FillWait, waker: &Waker) {
        if left.yields_left == 0 && matches!(self.inner.handover, Handover::Spawn(_)) {
            std::thread::yield_now();
        }
        (self.inner.defer)(waker);
    }

    /// Ends one commit.
    ///
    /// Without spawned tasks, the leader passes the right to commit to a waiting caller before it
    /// delivers the outcomes, so the next commit need not wait for the deliveries. If no caller
    /// waits, the leader delivers first and then releases the right, because `close` returns once
    /// the right is free.
    fn finish(&mut self, settled: Settled<C>) {
        self.stage = match self.inner.handover {
            Handover::NextCaller if self.inner.promise() => {
                // The right to commit belongs to the promoted caller now. Set the stage first: a
                // waker that panics below must not make `drop` release it a second time.
                self.stage = Stage::Done;
                drop(settled.deliver());
                Stage::Done
            }
            Handover::NextCaller => {
                drop(settled.deliver());
                self.inner.release();
                Stage::Done
            }
            Handover::Spawn(_) if self.inner.fill_yields > 0 => {
                let seen = self.inner.filling().unwrap_or_default();
                let answered = settled.batch.len();
                self.spent = settled.deliver_together(self.inner.defer);
                // The batch had a lone caller and the queue is empty, so yielding would only cost
                // time.
                Stage::Fill(if answered == 1 && seen == 0 {
                    FillWait::NONE
                } else {
                    FillWait {
                        // One extra yield, because the deferred wake-ups run only after the first
                        // yield.
                        yields_left: self.inner.fill_yields.saturating_add(1),
                        expected: Some(answered + seen),
                        seen: Some(seen),
                    }
                })
            }
            Handover::Spawn(_) => match self.inner.take_batch() {
                Some(batch) => {
                    self.settled = Some(Box::new(settled));
                    start(&self.inner, batch)
                }
                None => {
                    self.spent = settled.deliver();
                    Stage::Fill(FillWait::NONE)
                }
            },
        };
    }

    fn deliver_settled(&mut self) {
        if let Some(settled) = self.settled.take() {
            drop(settled.deliver_together(self.inner.defer));
        }
    }
}

fn start<C: Commit>(inner: &Arc<Inner<C>>, batch: Batch<C>) -> Stage<C> {
    let inner = Arc::clone(inner);
    Stage::Commit(Box::pin(
        async move { settle(&inner.committer, batch).await },
    ))
}

impl<C: Commit> Future for Drive<C> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..STEPS_PER_POLL {
            match &mut self.stage {
                Stage::Fill(wait) => {
                    let wait = *wait;
                    if self.fill(wait, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Stage::Commit(commit) => {
                    let polled = commit.as_mut().poll(cx);
                    self.deliver_settled();
                    self.spent = Vec::new();
                    match polled {
                        Poll::Ready(settled) => self.finish(settled),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                Stage::Done => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<C: Commit> Drop for Drive<C> {
    /// Drops a commit in flight before it releases the right to commit, so that two commits never
    /// overlap.
    fn drop(&mut self) {
        self.deliver_settled();
        if !matches!(std::mem::replace(&mut self.stage, Stage::Done), Stage::Done) {
            self.inner.release();
        }
    }
}
