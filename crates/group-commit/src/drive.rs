//! Commits batch after batch, in a task that no caller has to poll.
//!
//! A caller that finds the right to commit free starts the commit while it polls. If the commit
//! ends within that poll, as in memory, no task is needed. Otherwise a spawned task goes on, and
//! the caller only waits for its outcome. So a caller that is not polled, or that is dropped,
//! delays no other.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Undelivered, settle};
use crate::commit::Commit;
use crate::fill_wait::FillWait;
use crate::inner::Inner;

/// Maximum number of steps in one poll. Without this limit, a commit that is always ready would
/// block the other tasks on its thread, and delay the outcome of the caller that started it.
const STEPS_PER_POLL: usize = 8;

type Spawn = dyn Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync;

/// The shared state of an async queue, and how it runs tasks.
pub(crate) struct Driver<C: Commit> {
    pub(crate) inner: Inner<C>,
    spawn: Box<Spawn>,
    /// Wakes a waker. On tokio, it does so later, after the tasks that are ready now have run.
    defer: fn(&Waker),
}

impl<C: Commit> Driver<C> {
    pub(crate) fn new(inner: Inner<C>, spawn: Box<Spawn>, defer: fn(&Waker)) -> Arc<Self> {
        Arc::new(Self {
            inner,
            spawn,
            defer,
        })
    }

    /// Commits until no request waits. The caller has just got the right to commit.
    pub(crate) fn start(self: &Arc<Self>) {
        let yields = match self.inner.callers_arrive_together() {
            true => self.inner.fill_yields,
            false => 0,
        };
        let mut drive = Drive::new(self, yields);
        // A drive that has to yield before its first batch starts in a task, because a poll here
        // can't yield. The task polls the drive in any case, so the poll here needs no waker.
        let mut cx = Context::from_waker(Waker::noop());
        if yields == 0 && Pin::new(&mut drive).poll(&mut cx).is_ready() {
            return;
        }
        (self.spawn)(Box::pin(drive));
    }
}

/// Commits until no request waits. Holds the right to commit until then.
struct Drive<C: Commit> {
    driver: Arc<Driver<C>>,
    stage: Stage<C>,
    /// The batch before the one in flight, until its callers are woken. That happens after the
    /// commit in flight has started.
    undelivered: Option<Box<Undelivered<C>>>,
    /// The requests of the last batch whose callers were woken. Dropping many requests is slow, so
    /// they are dropped after the next commit has started.
    spent: Vec<C::Request>,
}

enum Stage<C: Commit> {
    /// Yields to other tasks for a while, then takes a batch.
    Fill(FillWait),
    Commit(Pin<Box<dyn Future<Output = Undelivered<C>> + Send>>),
    /// The right to commit has been given up.
    Done,
}

/// A drive pins only its commit, which is boxed.
impl<C: Commit> Unpin for Drive<C> {}

impl<C: Commit> Drive<C> {
    fn new(driver: &Arc<Driver<C>>, yields: u32) -> Self {
        let wait = match yields {
            0 => FillWait::NONE,
            yields => FillWait::first(yields),
        };
        Self {
            driver: Arc::clone(driver),
            stage: Stage::Fill(wait),
            undelivered: None,
            spent: Vec::new(),
        }
    }

    fn fill(&mut self, wait: FillWait, cx: &mut Context<'_>) -> Poll<()> {
        let inner = &self.driver.inner;
        let waiting = inner.filling();
        if let Some(left) = waiting.and_then(|waiting| wait.after_yield(waiting, inner.fill_yields))
        {
            self.stage = Stage::Fill(left);
            self.yield_to_others(left, cx.waker());
            return Poll::Pending;
        }
        self.stage = match inner.take_batch_or_release() {
            Some(batch) => self.commit(batch),
            None => Stage::Done,
        };
        Poll::Ready(())
    }

    /// Yields to other tasks, and on the last yield to other threads too. The kernel often places a
    /// woken thread on the processor of the thread that woke it. Without the yield, the woken
    /// thread and its callers would wait until this thread blocks.
    fn yield_to_others(&self, left: FillWait, waker: &Waker) {
        if left.is_none() {
            std::thread::yield_now();
        }
        (self.driver.defer)(waker);
    }

    fn commit(&self, batch: Batch<C>) -> Stage<C> {
        let driver = Arc::clone(&self.driver);
        Stage::Commit(Box::pin(async move {
            settle(&driver.inner.committer, batch).await
        }))
    }

    /// Ends one commit.
    fn finish(&mut self, undelivered: Undelivered<C>) {
        self.stage = match self.driver.inner.fill_yields {
            0 => self.commit_before_delivery(undelivered),
            yields => self.deliver_before_commit(undelivered, yields),
        };
    }

    fn deliver_before_commit(&mut self, undelivered: Undelivered<C>, yields: u32) -> Stage<C> {
        let waiting = self.driver.inner.filling().unwrap_or_default();
        let answered = undelivered.batch.len();
        self.spent = undelivered.deliver_together(self.driver.defer);
        Stage::Fill(FillWait::after_batch(yields, answered, waiting))
    }

    fn commit_before_delivery(&mut self, undelivered: Undelivered<C>) -> Stage<C> {
        match self.driver.inner.take_batch() {
            Some(batch) => {
                self.undelivered = Some(Box::new(undelivered));
                self.commit(batch)
            }
            None => {
                self.spent = undelivered.deliver();
                Stage::Fill(FillWait::NONE)
            }
        }
    }

    fn deliver_last(&mut self) {
        if let Some(undelivered) = self.undelivered.take() {
            drop(undelivered.deliver_together(self.driver.defer));
        }
    }
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
                    self.deliver_last();
                    self.spent = Vec::new();
                    match polled {
                        Poll::Ready(undelivered) => self.finish(undelivered),
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
        self.deliver_last();
        if !matches!(std::mem::replace(&mut self.stage, Stage::Done), Stage::Done) {
            self.driver.inner.release();
        }
    }
}
