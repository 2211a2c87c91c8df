//! Work that does not depend on the caller that waits for it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::task::JoinHandle;

/// Work that goes on while the future that started it is not polled.
///
/// A caller may hold a future and poll it later, for example in `tokio::select!`. If its work had a
/// connection or a lock, or only a place in a queue for one, others would wait for as long. So such
/// work runs in a task. Dropping the `Task` ends the work, unless it [must end](Self::to_its_end) by
/// itself.
pub struct Task<T> {
    state: State<T>,
    is_aborted_on_drop: bool,
}

enum State<T> {
    /// `None` once the result was taken.
    Done(Option<T>),
    Running(JoinHandle<T>),
}

impl<T: Send + 'static> Task<T> {
    /// Starts the work. Polls it once here, which sends a statement if a connection is free. Only
    /// then does a spawned task go on, so that a lone caller does not wait for another thread.
    ///
    /// # Panics
    /// Outside a tokio runtime, unless the work ends within the first poll.
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        let mut work = Box::pin(work);
        // The task polls the work again in any case, so this poll needs no waker.
        let first = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let state = match first {
            Poll::Ready(done) => State::Done(Some(done)),
            Poll::Pending => State::Running(tokio::spawn(work)),
        };
        Self {
            state,
            is_aborted_on_drop: true,
        }
    }

    /// Lets the work go on even if the `Task` is dropped. For work on a connection that others use
    /// afterwards: a statement that breaks off could leave a transaction open.
    #[must_use]
    pub fn to_its_end(mut self) -> Self {
        self.is_aborted_on_drop = false;
        self
    }

    /// Waits for the result. `None` if the runtime shut down before the work ended.
    ///
    /// # Panics
    /// If the work panicked.
    pub async fn join(mut self) -> Option<T> {
        match &mut self.state {
            State::Done(done) => done.take(),
            State::Running(task) => match poll_fn(|cx| Pin::new(&mut *task).poll(cx)).await {
                Ok(done) => Some(done),
                Err(failed) if failed.is_panic() => resume_unwind(failed.into_panic()),
                Err(_) => None,
            },
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let State::Running(task) = &self.state
            && self.is_aborted_on_drop
        {
            task.abort();
        }
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}
