//! Callers that exist before the clock starts.

use super::{BoxFuture, Outcome};
use crate::error::BoxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

/// Tasks that are released together, so that neither spawning nor dropping them is part of the op.
pub(super) struct Callers {
    gate: Arc<Gate>,
    tasks: Vec<JoinHandle<Result<Returned, BoxError>>>,
}

/// Each task adds a permit to `ready`, and takes one from `go` to start. Only the last call to end
/// wakes the waiting op, because a wake-up per call would be part of the op.
struct Gate {
    ready: Semaphore,
    go: Semaphore,
    running: AtomicUsize,
    all_ended: Notify,
}

/// Marks a call as ended on drop, so that a panic does not leave the op waiting.
struct Ending<'g>(&'g Gate);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // AcqRel, so that the last call sees the work of all others as done.
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.all_ended.notify_one();
        }
    }
}

/// The outcome of a call, and its time in nanoseconds.
pub(super) type Returned = (Outcome, u64);

/// A call before it begins. Its type is erased, because tokio's code for a task is large and would
/// be compiled again for every op. The box is made before the clock starts. Because of the box, the
/// task does not move the future when the call begins.
pub(super) type Call = BoxFuture<'static, Result<Returned, BoxError>>;

impl Callers {
    /// Spawns a task for each call, and returns when all tasks wait.
    pub(super) async fn gather(calls: Vec<Call>) -> Result<Self, BoxError> {
        let gate = Arc::new(Gate {
            ready: Semaphore::new(0),
            go: Semaphore::new(0),
            running: AtomicUsize::new(calls.len()),
            all_ended: Notify::new(),
        });
        let spawn = |mut call: Call| {
            let gate = Arc::clone(&gate);
            tokio::spawn(async move {
                gate.ready.add_permits(1);
                // Giving the permit back would be work within the op, so forget it.
                gate.go.acquire().await?.forget();
                let _ending = Ending(&gate);
                call.as_mut().await
            })
        };
        let callers = Self {
            tasks: calls.into_iter().map(spawn).collect(),
            gate: Arc::clone(&gate),
        };
        let count = u32::try_from(callers.tasks.len())?;
        // Waits until the last task has been polled once.
        gate.ready.acquire_many(count).await?.forget();
        Ok(callers)
    }

    /// Releases all tasks, and returns when the last call has ended.
    pub(super) async fn call(&self) {
        self.gate.go.add_permits(self.tasks.len());
        self.gate.all_ended.notified().await;
    }

    /// The outcomes of the calls.
    pub(super) async fn outcomes(self) -> Result<Vec<Returned>, BoxError> {
        let mut outcomes = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            outcomes.push(task.await??);
        }
        Ok(outcomes)
    }
}
