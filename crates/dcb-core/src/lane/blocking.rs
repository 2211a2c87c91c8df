//! Waiting in a lane on a thread without a runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot::error::RecvError;

use super::{Answer, Lanes, Outcome};

/// Waits on this thread until `poll` is ready, which is called again after each wake and at least every
/// [`Lanes::TURN_LIMIT`]. `None` once the deadline has passed.
pub(super) fn block_on<T>(
    deadline: Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = poll(&mut cx) {
            return Some(done);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return None;
        }
        thread::park_timeout(Lanes::TURN_LIMIT.min(left.unwrap_or(Lanes::TURN_LIMIT)));
    }
}

/// Waits on this thread for the outcome of a decision. `None` once the deadline has passed; an error if the commit
/// was abandoned.
pub(crate) fn wait_for_answer(
    answer: Answer,
    deadline: Option<Instant>,
) -> Option<Result<Outcome, RecvError>> {
    // A thread that runs a task has tokio's budget for its polls, which nothing refreshes while this call
    // blocks. Without budget, an answer that is there stays pending.
    let mut answer = pin!(tokio::task::unconstrained(answer));
    block_on(deadline, |cx| answer.as_mut().poll(cx))
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
