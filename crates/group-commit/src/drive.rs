//! The right to commit, in the hands of one task at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::batch::{Batch, Settled};
use crate::commit::Commit;
use crate::settle::settle;
use crate::shared::{Handover, Shared};

/// A commit that is always ready must not keep its task from others, nor a leader from its verdict.
const STEPS_PER_POLL: usize = 8;

/// Commits batch after batch until nobody waits. First polled by the leader; moved to a task of its
/// own when the leader has its verdict or is dropped.
pub(crate) struct Drive<C: Commit> {
    shared: Arc<Shared<C>>,
    stage: Stage<C>,
    /// The batch before the one in flight, whose callers are told as soon as that one has started.
    settled: Option<Settled<C>>,
}

enum Stage<C: Commit> {
    /// Gives way to other tasks so many times more, then takes a batch.
    Fill(u32),
    Commit(Pin<Box<dyn Future<Output = Settled<C>> + Send>>),
    /// The right to commit has been given up.
    Done,
}

/// Nothing in it is pinned but the boxed commit.
impl<C: Commit> Unpin for Drive<C> {}

impl<C: Commit> Drive<C> {
    /// Commits `batch` first.
    pub(crate) fn lead(shared: &Arc<Shared<C>>, batch: Batch<C>) -> Self {
        let stage = start(shared, batch);
        Self {
            shared: Arc::clone(shared),
            stage,
            settled: None,
        }
    }

    /// Takes a batch from the line first. For the caller to whom the right to commit was promised.
    pub(crate) fn promoted(shared: &Arc<Shared<C>>) -> Self {
        shared.accept();
        let stage = Stage::Fill(shared.fill_yields);
        Self {
            shared: Arc::clone(shared),
            stage,
            settled: None,
        }
    }

    /// Goes on in a task of its own, if there is more to do. Without such tasks the drive ends here
    /// and passes the right to commit on.
    pub(crate) fn detach(self) {
        if matches!(self.stage, Stage::Done) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        if let Handover::Spawn(spawn) = &shared.handover {
            spawn(Box::pin(self));
        }
    }

    fn fill(&mut self, yields: u32, cx: &mut Context<'_>) -> Poll<()> {
        if yields > 0 && self.shared.may_fill() {
            self.stage = Stage::Fill(yields - 1);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.stage = match self.shared.take_batch_or_release() {
            Some(batch) => start(&self.shared, batch),
            None => Stage::Done,
        };
        Poll::Ready(())
    }

    /// The right to commit is given up only after the verdicts are delivered, but passed on to a
    /// caller before: its commit need not wait for them.
    fn finish(&mut self, settled: Settled<C>) {
        self.stage = match self.shared.handover {
            Handover::Baton if self.shared.promise() => {
                // No longer ours to release, not even if the waker of a caller panics.
                self.stage = Stage::Done;
                settled.deliver();
                Stage::Done
            }
            Handover::Baton => {
                settled.deliver();
                self.shared.release();
                Stage::Done
            }
            Handover::Spawn(_) if self.shared.fill_yields > 0 => {
                let alone = settled.batch.len() == 1 && !self.shared.has_waiting();
                settled.deliver();
                Stage::Fill(if alone { 0 } else { self.shared.fill_yields })
            }
            Handover::Spawn(_) => match self.shared.take_batch() {
                Some(batch) => {
                    self.settled = Some(settled);
                    start(&self.shared, batch)
                }
                None => {
                    settled.deliver();
                    Stage::Fill(0)
                }
            },
        };
    }

    fn deliver_settled(&mut self) {
        if let Some(settled) = self.settled.take() {
            settled.deliver();
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
                Stage::Fill(yields) => {
                    let yields = *yields;
                    if self.fill(yields, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Stage::Commit(commit) => {
                    let polled = commit.as_mut().poll(cx);
                    self.deliver_settled();
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
    /// Dropped with a commit in flight: the commit is dropped first, because the next one must find
    /// it ended.
    fn drop(&mut self) {
        self.deliver_settled();
        if !matches!(std::mem::replace(&mut self.stage, Stage::Done), Stage::Done) {
            self.shared.release();
        }
    }
}
