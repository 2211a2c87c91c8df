//! The answer to a decision, and the commits of a lane while its only member polls them.
//!
//! A member that begins a commit polls it in its call, so a lone decision needs no task. As soon as
//! another member arrives, or the first one leaves, a spawned task goes on: no member waits for another
//! one to be polled.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

use super::{Lane, Outcome};

/// Commits a group, and the groups that are collected meanwhile.
pub(super) type CommitTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells a member what became of its decision. Ends without an outcome if the commit was abandoned.
pub(crate) struct Answer {
    outcome: oneshot::Receiver<Outcome>,
    /// The lane whose commits this member polls.
    leads: Option<Arc<Lane>>,
}

/// The commits of a lane between two polls of the member that has begun them.
pub(super) struct Held {
    commits: CommitTask,
    /// Wakes that member. `None` before its first poll.
    waker: Option<Waker>,
    /// The runtime of that member.
    runtime: Handle,
}

impl Answer {
    pub(super) fn new(outcome: oneshot::Receiver<Outcome>) -> Self {
        Self {
            outcome,
            leads: None,
        }
    }

    /// The answer to the member that begins these commits.
    pub(super) fn of_leader(
        mut self,
        lane: &Arc<Lane>,
        commits: CommitTask,
        runtime: Handle,
    ) -> Self {
        *lane.held() = Some(Held {
            commits,
            waker: None,
            runtime,
        });
        self.leads = Some(Arc::clone(lane));
        self
    }
}

impl Future for Answer {
    type Output = Result<Outcome, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(lane) = &self.leads {
            let held = lane.held().take();
            if let Some(held) = held {
                ready!(lane.poll_commits(held, cx));
            }
            // A task goes on with the commits, or they have ended.
            self.leads = None;
        }
        Pin::new(&mut self.outcome).poll(cx)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(lane) = &self.leads {
            lane.release();
        }
    }
}

impl Lane {
    /// Polls the commits. Pending if the member goes on to poll them.
    fn poll_commits(&self, mut held: Held, cx: &mut Context<'_>) -> Poll<()> {
        if held.commits.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        held.waker = Some(cx.waker().clone());
        *self.held() = Some(held);
        // After they are held: a member that arrives later releases them.
        if self.state().has_one_member() {
            return Poll::Pending;
        }
        self.release();
        Poll::Ready(())
    }

    /// Spawns the commits that a member polls. That member waits for its outcome then.
    pub(super) fn release(&self) {
        let held = self.held().take();
        if let Some(held) = held {
            held.runtime.spawn(held.commits);
            if let Some(waker) = held.waker {
                waker.wake();
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
