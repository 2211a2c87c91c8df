//! The right to commit, in the hands of one task at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

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
    settled: Option<Box<Settled<C>>>,
    /// What is left of that batch once they are told, dropped when the one in flight has started.
    spent: Vec<C::Request>,
}

enum Stage<C: Commit> {
    /// Gives way to other tasks for a while, then takes a batch.
    Fill(Patience),
    Commit(Pin<Box<dyn Future<Output = Settled<C>> + Send>>),
    /// The right to commit has been given up.
    Done,
}

/// How long the writer gives way.
#[derive(Clone, Copy)]
struct Patience {
    /// So many times more, unless somebody comes.
    yields: u32,
    /// Until so many wait: those who were answered, and those who waited already.
    expected: usize,
    /// The most that waited so far.
    seen: usize,
}

impl Patience {
    const NONE: Self = Self::of(0);

    /// With nobody in particular: so many times, whoever comes.
    const fn of(yields: u32) -> Self {
        Self {
            yields,
            expected: usize::MAX,
            seen: usize::MAX,
        }
    }

    /// What is left of it after a look at how many wait; `None` where it is at its end. Whoever
    /// comes renews it to `yields`.
    fn after(self, waiting: usize, yields: u32) -> Option<Self> {
        if waiting >= self.expected {
            return None;
        }
        let yields = if waiting > self.seen {
            yields
        } else {
            self.yields.checked_sub(1)?
        };
        Some(Self {
            yields,
            seen: self.seen.max(waiting),
            ..self
        })
    }
}

/// Nothing in it is pinned but the boxed commit.
impl<C: Commit> Unpin for Drive<C> {}

impl<C: Commit> Drive<C> {
    /// For the caller that found the writer free: it gives way to those who are about to come, where
    /// others came of late.
    pub(crate) fn lead(shared: &Arc<Shared<C>>) -> Self {
        let patience = match shared.handover {
            Handover::Spawn(_) if shared.is_crowded() => Patience {
                seen: 1,
                ..Patience::of(shared.fill_yields)
            },
            // Other threads come while it commits: to give way to one is to wait for it.
            Handover::Spawn(_) | Handover::Baton => Patience::NONE,
        };
        Self::filling(shared, patience)
    }

    /// For the caller to whom the right to commit was promised.
    pub(crate) fn promoted(shared: &Arc<Shared<C>>) -> Self {
        shared.accept();
        Self::filling(shared, Patience::of(shared.fill_yields))
    }

    fn filling(shared: &Arc<Shared<C>>, patience: Patience) -> Self {
        Self {
            shared: Arc::clone(shared),
            stage: Stage::Fill(patience),
            settled: None,
            spent: Vec::new(),
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

    fn fill(&mut self, patience: Patience, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.shared.filling();
        let left = waiting.and_then(|waiting| patience.after(waiting, self.shared.fill_yields));
        if let Some(left) = left {
            self.stage = Stage::Fill(left);
            self.give_way(left, cx.waker());
            return Poll::Pending;
        }
        self.stage = match self.shared.take_batch_or_release() {
            Some(batch) => start(&self.shared, batch),
            None => Stage::Done,
        };
        Poll::Ready(())
    }

    /// To other tasks, and the last time to other threads too: the kernel often puts one that was
    /// woken on the processor of the one that woke it, where it would wait with callers in hand.
    fn give_way(&self, left: Patience, waker: &Waker) {
        if left.yields == 0 && matches!(self.shared.handover, Handover::Spawn(_)) {
            std::thread::yield_now();
        }
        (self.shared.defer)(waker);
    }

    /// The right to commit is given up only after the verdicts are delivered, but passed on to a
    /// caller before: its commit need not wait for them.
    fn finish(&mut self, settled: Settled<C>) {
        self.stage = match self.shared.handover {
            Handover::Baton if self.shared.promise() => {
                // No longer ours to release, not even if the waker of a caller panics.
                self.stage = Stage::Done;
                drop(settled.deliver());
                Stage::Done
            }
            Handover::Baton => {
                drop(settled.deliver());
                self.shared.release();
                Stage::Done
            }
            Handover::Spawn(_) if self.shared.fill_yields > 0 => {
                let seen = self.shared.filling().unwrap_or_default();
                let answered = settled.batch.len();
                self.spent = settled.deliver_together(self.shared.defer);
                Stage::Fill(if answered == 1 && seen == 0 {
                    Patience::NONE
                } else {
                    Patience {
                        // The first passes before they are woken.
                        yields: self.shared.fill_yields.saturating_add(1),
                        expected: answered + seen,
                        seen,
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
                    Stage::Fill(Patience::NONE)
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
                Stage::Fill(patience) => {
                    let patience = *patience;
                    if self.fill(patience, cx).is_pending() {
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
    /// Dropped with a commit in flight: the commit is dropped first, because the next one must find
    /// it ended.
    fn drop(&mut self) {
        self.deliver_settled();
        if !matches!(std::mem::replace(&mut self.stage, Stage::Done), Stage::Done) {
            self.shared.release();
        }
    }
}
