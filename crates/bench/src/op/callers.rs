//! Callers that exist before the clock starts.

use crate::error::BoxError;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

/// Tasks that wait to be let go together, so that neither making them nor taking them down is in the
/// op.
pub(super) struct Callers<T> {
    gate: Arc<Gate>,
    tasks: Vec<JoinHandle<Result<T, BoxError>>>,
}

/// Each task gives a permit when it is ready, and takes one to go. Only the last whose call ends
/// wakes who waits for them: what the others do then is part of the op.
struct Gate {
    ready: Semaphore,
    go: Semaphore,
    running: AtomicUsize,
    all_ended: Notify,
}

/// Says that the call has ended, even if it panicked: the others are not to wait for it.
struct Ending<'g>(&'g Gate);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.all_ended.notify_one();
        }
    }
}

impl<T: Send + 'static> Callers<T> {
    /// Makes a task for each call, and returns when all wait.
    pub(super) async fn gather<Fut>(
        calls: impl ExactSizeIterator<Item = Fut>,
    ) -> Result<Self, BoxError>
    where
        Fut: Future<Output = Result<T, BoxError>> + Send + 'static,
    {
        let gate = Arc::new(Gate {
            ready: Semaphore::new(0),
            go: Semaphore::new(0),
            running: AtomicUsize::new(calls.len()),
            all_ended: Notify::new(),
        });
        let spawn = |call: Fut| {
            let gate = Arc::clone(&gate);
            // Where it is made it stays: a task moves what it holds when it begins and when it ends.
            let mut call = Box::pin(call);
            tokio::spawn(async move {
                gate.ready.add_permits(1);
                gate.go.acquire().await?.forget();
                let _ending = Ending(&gate);
                call.as_mut().await
            })
        };
        let callers = Self {
            tasks: calls.map(spawn).collect(),
            gate: Arc::clone(&gate),
        };
        let count = u32::try_from(callers.tasks.len())?;
        gate.ready.acquire_many(count).await?.forget();
        Ok(callers)
    }

    /// Lets all go, and returns when the last call has ended.
    pub(super) async fn call(&self) {
        self.gate.go.add_permits(self.tasks.len());
        self.gate.all_ended.notified().await;
    }

    /// What the calls came to.
    pub(super) async fn outcomes(self) -> Result<Vec<T>, BoxError> {
        let mut outcomes = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            outcomes.push(task.await??);
        }
        Ok(outcomes)
    }
}
