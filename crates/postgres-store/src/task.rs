//! Work that does not depend on the caller that waits for it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use store_fault::Fault;
use tokio::task::JoinHandle;

use crate::store_error::StoreError;

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

/// Runs a call that holds locks of the database in a task, so that a caller that is not polled does not
/// keep them.
///
/// # Errors
/// The call's, and [`Fault::Closed`] if the runtime shuts down before its end.
pub async fn in_task<T, E>(
    call: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: StoreError,
{
    let done = Task::start(call).join().await;
    done.unwrap_or_else(|| Err(Fault::Closed.into()))
}

/// As [`in_task`], but the call ends by itself even if its caller goes away. For a call on the writer's
/// connection, which is used for other writes afterwards.
///
/// # Errors
/// As [`in_task`].
pub async fn to_its_end<T, E>(
    call: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: StoreError,
{
    let done = Task::start(call).to_its_end().join().await;
    done.unwrap_or_else(|| Err(Fault::Closed.into()))
}

/// Closes a store. Goes on if the caller goes away, because a store that is closed half-way would keep
/// its connections. Without a result the runtime shuts down, and the connections end with it.
pub async fn close(closing: impl Future<Output = ()> + Send + 'static) {
    let _ = Task::start(closing).to_its_end().join().await;
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
