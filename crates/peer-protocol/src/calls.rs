//! Callers that begin together and each make one call after the other.

use crate::{Answer, Failure, Run};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::Barrier;

/// The number of events that a call wrote or read, or why it has no result.
pub(crate) type Outcome = Result<u64, Failure>;

/// A call that the caller with this number makes, given how many calls it has made before.
pub(crate) trait Caller: Send + 'static {
    fn call(&mut self, call: u64) -> impl Future<Output = Outcome> + Send;
}

/// Lets each caller call until the time or the limit is reached.
pub(crate) async fn make_calls<C: Caller>(run: &Run, blocks: bool, callers: Vec<C>) -> Answer {
    let barrier = Arc::new(Barrier::new(callers.len() + 1));
    let left = Arc::new(AtomicU64::new(run.limit.unwrap_or(u64::MAX)));
    let duration = Duration::from_secs_f64(run.seconds);
    let mut started = Vec::new();
    for mut caller in callers {
        let (barrier, left) = (Arc::clone(&barrier), Arc::clone(&left));
        started.push(start(blocks, async move {
            barrier.wait().await;
            let (began, mut tally) = (Instant::now(), Answer::default());
            let mut call = 0;
            while began.elapsed() < duration && take(&left) {
                let begun = Instant::now();
                let outcome = caller.call(call).await;
                if outcome.is_ok() {
                    tally.count_second(began.elapsed().as_secs() as usize);
                }
                tally.count(outcome, begun.elapsed());
                call += 1;
            }
            tally
        }));
    }
    barrier.wait().await;
    let began = Instant::now();
    gather(started, began).await
}

/// Takes one call from those that are left.
fn take(left: &AtomicU64) -> bool {
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    taken.is_ok()
}

/// Runs a caller as a task, or on its own thread if its calls block.
pub(crate) fn start<T: Send + 'static>(
    blocks: bool,
    calls: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    if blocks {
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || runtime.block_on(calls))
    } else {
        tokio::spawn(calls)
    }
}

/// Waits for all callers, and adds up what they did.
pub(crate) async fn gather(
    started: Vec<tokio::task::JoinHandle<Answer>>,
    began: Instant,
) -> Answer {
    let mut sum = Answer::default();
    for caller in started {
        match caller.await {
            Ok(tally) => sum.add(tally),
            Err(panic) => sum.fail(panic.to_string()),
        }
    }
    sum.seconds = began.elapsed().as_secs_f64();
    sum
}

impl Answer {
    pub(crate) fn count(&mut self, outcome: Outcome, latency: Duration) {
        match outcome {
            Ok(events) => self.events += events,
            Err(Failure::Conflict) => self.conflicts += 1,
            Err(Failure::Other(reason)) => return self.fail(reason),
        }
        self.calls += 1;
        self.latencies.record(latency);
    }

    fn count_second(&mut self, second: usize) {
        if self.by_second.len() <= second {
            self.by_second.resize(second + 1, 0);
        }
        self.by_second[second] += 1;
    }

    pub(crate) fn fail(&mut self, reason: String) {
        self.failures += 1;
        self.failure.get_or_insert(reason);
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.events += other.events;
        self.conflicts += other.conflicts;
        self.failures += other.failures;
        self.failure = self.failure.take().or(other.failure);
        self.wrong += other.wrong;
        self.latencies.add(&other.latencies);
        if self.by_second.len() < other.by_second.len() {
            self.by_second.resize(other.by_second.len(), 0);
        }
        for (sum, calls) in self.by_second.iter_mut().zip(&other.by_second) {
            *sum += calls;
        }
    }
}
