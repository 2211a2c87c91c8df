//! A future that is polled once and then held delays no other call.
//!
//! `tokio::select!` with `&mut call` holds a call in this way, and so does a task that starts a call
//! and awaits something else first. A store in which callers work for each other, or wait in line
//! with a connection or a lock in hand, answers the other calls with a timeout or never.
//!
//! Each case takes a function that returns one call of each kind.

use std::fmt::Display;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

/// Calls of each kind that are held at once: more than a store has connections.
pub const HELD: usize = 20;
/// Ends a case whose store never answers. Longer than the time limits of the stores.
const GIVE_UP: Duration = Duration::from_secs(60);

/// A call that has not begun.
pub struct Call<E> {
    name: &'static str,
    future: Pin<Box<dyn Future<Output = Result<(), E>> + Send>>,
}

impl<E: Display> Call<E> {
    /// A call of `store` with a name for messages.
    pub fn new<S, F>(name: &'static str, store: &Arc<S>, work: impl FnOnce(Arc<S>) -> F) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        Self {
            name,
            future: Box::pin(work(Arc::clone(store))),
        }
    }

    async fn answer(self, when: &str) -> (&'static str, Result<(), E>) {
        let name = self.name;
        let answer = timeout(GIVE_UP, self.future).await;
        (
            name,
            answer.unwrap_or_else(|_| panic!("{name} never ends {when}")),
        )
    }

    async fn succeed(self, when: &str) {
        let (name, answer) = self.answer(when).await;
        answer.unwrap_or_else(|error| panic!("{name} {when}: {error}"));
    }
}

/// Polls the future once. Returns its output if it has one.
pub async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Polls each call once, and returns those that go on.
async fn hold<E: Display>(calls: impl IntoIterator<Item = Call<E>>) -> Vec<Call<E>> {
    let mut held = Vec::new();
    for mut call in calls {
        match poll_once(call.future.as_mut()).await {
            Some(answer) => answer.unwrap_or_else(|error| panic!("{}: {error}", call.name)),
            None => held.push(call),
        }
    }
    held
}

/// Makes these calls one after another, while `held` is not polled.
///
/// # Panics
/// If one fails or never ends.
pub async fn call_each<E: Display>(calls: Vec<Call<E>>, held: &str) {
    for call in calls {
        call.succeed(&format!("while {held} is held")).await;
    }
}

async fn finish<E: Display>(held: Vec<Call<E>>) {
    for call in held {
        call.succeed("after it was held").await;
    }
}

/// One call is held, of each kind in turn.
///
/// # Panics
/// If another call fails or never ends.
pub async fn held_call_delays_no_other<E: Display>(calls: impl Fn() -> Vec<Call<E>>) {
    for call in calls() {
        let name = call.name;
        let held = hold([call]).await;
        call_each(calls(), name).await;
        finish(held).await;
    }
}

/// [`HELD`] calls of each kind are held.
///
/// # Panics
/// If another call fails or never ends.
pub async fn many_held_calls_delay_no_other<E: Display>(calls: impl Fn() -> Vec<Call<E>>) {
    let held = hold((0..HELD).flat_map(|_| calls())).await;
    call_each(calls(), "everything").await;
    finish(held).await;
}

/// Calls that arrive together are answered together. One of them is held.
///
/// # Panics
/// If another call fails or never ends.
pub async fn held_call_of_a_batch_delays_no_other<E>(calls: impl Fn() -> Vec<Call<E>>)
where
    E: Display + 'static,
{
    for _ in 0..3 {
        let mut tasks = JoinSet::new();
        for call in (0..HELD).flat_map(|_| calls()) {
            tasks.spawn(call.succeed("in a batch with a held call"));
        }
        let held = hold(calls()).await;
        while let Some(done) = tasks.join_next().await {
            done.expect("no call panics");
        }
        finish(held).await;
    }
}

/// A held call that was dropped leaves nothing behind that others need.
///
/// # Panics
/// If another call fails or never ends.
pub async fn dropped_calls_delay_no_other<E: Display>(calls: impl Fn() -> Vec<Call<E>>) {
    for _ in 0..3 {
        drop(hold((0..HELD).flat_map(|_| calls())).await);
        call_each(calls(), "nothing").await;
    }
}

/// `close` waits for the calls that have begun, and their callers may be held.
///
/// # Panics
/// If `close` never ends, or a held call then fails otherwise than `is_closed` tells.
pub async fn close_ends_while_calls_are_held<E: Display, F: Future<Output = ()>>(
    calls: impl Fn() -> Vec<Call<E>>,
    close: impl Fn() -> F,
    is_closed: impl Fn(&E) -> bool,
) {
    let held = hold((0..3).flat_map(|_| calls())).await;
    let mut closing = pin!(close());
    let closed = poll_once(closing.as_mut()).await;
    let again = timeout(GIVE_UP, close()).await;
    again.expect("a second close ends while the first is held");
    if closed.is_none() {
        let closed = timeout(GIVE_UP, closing).await;
        closed.expect("a held close ends");
    }
    for call in held {
        match call.answer("after close").await {
            (name, Err(error)) if !is_closed(&error) => panic!("{name} after close: {error}"),
            _ => {}
        }
    }
}
