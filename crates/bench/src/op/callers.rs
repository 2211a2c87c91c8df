//! Callers that exist before the clock starts.

use crate::error::BoxError;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Tasks that wait to be let go together, so that neither making them nor taking them down is in the
/// op.
pub(super) struct Callers<T> {
    gate: Arc<Gate>,
    tasks: Vec<JoinHandle<Result<T, BoxError>>>,
}

/// Each task gives a permit when it is ready and one when its call has ended; it takes one to go.
struct Gate {
    ready: Semaphore,
    go: Semaphore,
    ended: Semaphore,
}

/// Says that the call has ended, even if it panicked: the others are not to wait for it.
struct Ending<'g>(&'g Gate);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.add_permits(1);
    }
}

impl<T: Send + 'static> Callers<T> {
    /// Makes a task for each call, and returns when all wait.
    pub(super) async fn gather<Fut>(calls: impl Iterator<Item = Fut>) -> Result<Self, BoxError>
    where
        Fut: Future<Output = Result<T, BoxError>> + Send + 'static,
    {
        let gate = Arc::new(Gate {
            ready: Semaphore::new(0),
            go: Semaphore::new(0),
            ended: Semaphore::new(0),
        });
        let spawn = |call: Fut| {
            let gate = Arc::clone(&gate);
            tokio::spawn(async move {
                gate.ready.add_permits(1);
                gate.go.acquire().await?.forget();
                let _ending = Ending(&gate);
                call.await
            })
        };
        let callers = Self {
            tasks: calls.map(spawn).collect(),
            gate: Arc::clone(&gate),
        };
        callers.all(&gate.ready).await?;
        Ok(callers)
    }

    /// Lets all go, and returns when the last call has ended.
    pub(super) async fn call(&self) -> Result<(), BoxError> {
        self.gate.go.add_permits(self.tasks.len());
        self.all(&self.gate.ended).await
    }

    /// What the calls came to.
    pub(super) async fn outcomes(self) -> Result<Vec<T>, BoxError> {
        let mut outcomes = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            outcomes.push(task.await??);
        }
        Ok(outcomes)
    }

    async fn all(&self, given: &Semaphore) -> Result<(), BoxError> {
        let count = u32::try_from(self.tasks.len())?;
        given.acquire_many(count).await?.forget();
        Ok(())
    }
}
