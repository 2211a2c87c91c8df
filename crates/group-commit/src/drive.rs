//! The leader: the task that holds the right to commit.
//!
//! One rule decides how long a leader waits before it commits: it yields to other tasks only if callers
//! have recently arrived together, and only until the callers of the last batch are back. A lone caller
//! never yields, because one yield costs it about 10 us.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Settled};
use crate::commit::Commit;
use crate::settle::settle;
use crate::shared::{Handover, Shared};

/// Steps in one poll. A commit that is always ready must not block other tasks on its thread, nor delay
/// the leader's own outcome.
const STEPS_PER_POLL: usize = 8;

/// Commits batch after batch until no request waits. The leader polls it first; it moves to a spawned
/// task when the leader has its outcome or is dropped.
pub(crate) struct Drive<C: Commit> {
    shared: Arc<Shared<C>>,
    stage: Stage<C>,
    /// The batch before the one in flight. Its callers are woken once the next commit has started.
    settled: Option<Box<Settled<C>>>,
    /// The requests of that batch. Dropping them is slow, so they go once the next commit has started.
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
    /// It stops once this many requests wait. `None`: the leader expects no particular number.
    expected: Option<usize>,
    /// The most requests seen waiting. A larger number restores `yields_left`, because more callers
    /// may be on their way. `None`: arrivals restore nothing.
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

    /// The wait that is left when `waiting` requests wait. `None` ends the wait.
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

/// Only the commit is pinned, and that is boxed.
impl<C: Commit> Unpin for Drive<C> {}

impl<C: Commit> Drive<C> {
    /// For a caller that found the writer free. It yields to callers that are about to arrive if recent
    /// batches had several callers.
    pub(crate) fn lead(shared: &Arc<Shared<C>>) -> Self {
        let wait = match shared.handover {
            Handover::Spawn(_) if shared.callers_arrive_together() => FillWait {
                // Its own request waits already.
                seen: Some(1),
                ..FillWait::yields(shared.fill_yields)
            },
            // Threads run in parallel and queue up during the commit, so yielding to them would only
            // delay it.
            Handover::Spawn(_) | Handover::NextCaller => FillWait::NONE,
        };
        Self::filling(shared, wait)
    }

    /// For a caller that was promoted: the last leader passed it the right to commit.
    pub(crate) fn promoted(shared: &Arc<Shared<C>>) -> Self {
        shared.accept();
        Self::filling(shared, FillWait::yields(shared.fill_yields))
    }

    fn filling(shared: &Arc<Shared<C>>, wait: FillWait) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: Stage::Fill(wait),
            settled: None,
            spent: Vec::new(),
        }
    }

    /// Continues in a spawned task if there is more to do. Without spawned tasks, it ends here and
    /// passes on the right to commit.
    pub(crate) fn detach(self) {
        if matches!(self.stage, Stage::Done) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        if let Handover::Spawn(spawn) = &shared.handover {
            spawn(Box::pin(self));
        }
    }

    fn fill(&mut self, wait: FillWait, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.shared.filling();
        let left = waiting.and_then(|waiting| wait.after(waiting, self.shared.fill_yields));
        if let Some(left) = left {
            self.stage = Stage::Fill(left);
            self.yield_to_others(left, cx.waker());
            return Poll::Pending;
        }
        self.stage = match self.shared.take_batch_or_release() {
            Some(batch) => start(&self.shared, batch),
            None => Stage::Done,
        };
        Poll::Ready(())
    }

    /// Yields to other tasks, and on the last yield to other threads too. The kernel often places a
    /// woken thread on the processor of the thread that woke it; without the yield, that thread and its
    /// callers would wait until this one blocks.
    fn yield_to_others(&self, left: FillWait, waker: &Waker) {
        if left.yields_left == 0 && matches!(self.shared.handover, Handover::Spawn(_)) {
            std::thread::yield_now();
        }
        (self.shared.defer)(waker);
    }

    /// Ends one commit. The leader releases the right to commit only after it has delivered the
    /// outcomes, but passes it to a waiting caller first: the next commit need not wait for the
    /// deliveries.
    fn finish(&mut self, settled: Settled<C>) {
        self.stage = match self.shared.handover {
            Handover::NextCaller if self.shared.promise() => {
                // The right to commit belongs to the promoted caller now. Set the stage first: a waker
                // that panics below must not make `drop` release it a second time.
                self.stage = Stage::Done;
                drop(settled.deliver());
                Stage::Done
            }
            Handover::NextCaller => {
                drop(settled.deliver());
                self.shared.release();
                Stage::Done
            }
            Handover::Spawn(_) if self.shared.fill_yields > 0 => {
                let seen = self.shared.filling().unwrap_or_default();
                let answered = settled.batch.len();
                self.spent = settled.deliver_together(self.shared.defer);
                // A lone caller with an empty queue behind it: yielding would only cost it time.
                Stage::Fill(if answered == 1 && seen == 0 {
                    FillWait::NONE
                } else {
                    FillWait {
                        // One more, because the deferred wake-ups run after the first yield.
                        yields_left: self.shared.fill_yields.saturating_add(1),
                        expected: Some(answered + seen),
                        seen: Some(seen),
                    }
                })
            }
            Handover::Spawn(_) => match self.shared.take_batch() {
                Some(batch) => {
                    self.settled = Some(Box::new(settled));
                    start(&self.shared, batch)
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
            drop(settled.deliver_together(self.shared.defer));
        }
    }
}

fn start<C: Commit>(shared: &Arc<Shared<C>>, batch: Batch<C>) -> Stage<C> {
    let shared = Arc::clone(shared);
    Stage::Commit(Box::pin(
        async move { settle(&shared.committer, batch).await },
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
    /// With a commit in flight, the commit is dropped before the right to commit is released: the next
    /// leader must find it ended.
    fn drop(&mut self) {
        self.deliver_settled();
        if !matches!(std::mem::replace(&mut self.stage, Stage::Done), Stage::Done) {
            self.shared.release();
        }
    }
}
