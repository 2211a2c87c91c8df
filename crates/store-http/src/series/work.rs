use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Maximum number of concurrent queries. Each may hold the samples of its budget and its answer.
const QUERIES: usize = 4;
/// Maximum number of large or compressed bodies that are parsed at once. Each may grow to many
/// times its size.
const BODIES: usize = 2;
/// Maximum number of bytes of large answers that are being sent.
const SENDING_BYTES: usize = 512 << 20;
/// One permit of the sending budget, in bytes.
const PERMIT_BYTES: usize = 4096;
/// How long a request may wait for a permit.
const LIMIT: Duration = Duration::from_secs(10);

/// Limits for work that takes much CPU time or memory. The work runs on blocking threads.
#[derive(Debug)]
pub(crate) struct Work {
    queries: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    sending: Arc<Semaphore>,
}

/// A permit, released on drop. It stays with the memory that it stands for.
pub(super) type Permit = OwnedSemaphorePermit;

impl Default for Work {
    fn default() -> Self {
        Self {
            queries: Arc::new(Semaphore::new(QUERIES)),
            bodies: Arc::new(Semaphore::new(BODIES)),
            sending: Arc::new(Semaphore::new(SENDING_BYTES / PERMIT_BYTES)),
        }
    }
}

impl Work {
    /// Runs a query. The caller keeps the permit as long as the result is in memory.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Permit), ApiError> {
        let one = Arc::clone(&self.queries).acquire_owned();
        run(one, "too many queries are running", work).await
    }

    /// Parses and writes a body.
    pub(super) async fn body<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let one = Arc::clone(&self.bodies).acquire_owned();
        let done = run(one, "too many bodies are being parsed", work).await;
        done.map(|(result, _)| result)
    }

    /// Like [`Work::body`], for a body that may take much memory: no other body is parsed beside it.
    pub(super) async fn large_body<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let all = Arc::clone(&self.bodies).acquire_many_owned(BODIES as u32);
        let done = run(all, "too many bodies are being parsed", work).await;
        done.map(|(result, _)| result)
    }

    /// Waits until the sending budget has room for an answer of this size.
    pub(super) async fn sending_budget(&self, bytes: usize) -> Result<Permit, ApiError> {
        // An answer larger than the whole budget takes all of it instead of waiting forever.
        let permits = bytes.min(SENDING_BYTES).div_ceil(PERMIT_BYTES) as u32;
        let permit = Arc::clone(&self.sending).acquire_many_owned(permits);
        let permit = tokio::time::timeout(LIMIT, permit).await;
        permit
            .ok()
            .and_then(Result::ok)
            .ok_or_else(|| ApiError::overloaded("too many answers are being sent"))
    }
}

async fn run<T: Send + 'static>(
    permit: impl Future<Output = Result<Permit, AcquireError>>,
    refusal: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, Permit), ApiError> {
    let permit = tokio::time::timeout(LIMIT, permit).await;
    let Ok(Ok(permit)) = permit else {
        return Err(ApiError::overloaded(refusal));
    };
    // The work holds the permit, not the request: blocking work continues after the client is gone.
    let done = tokio::task::spawn_blocking(move || (work(), permit)).await;
    done.map_err(|failed| ApiError::internal(&failed))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_keeps_its_permit_after_its_request_is_dropped() {
        let work = Work::default();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (finish, finished) = mpsc::channel::<()>();
        let request = work.query(move || {
            begin.send(()).expect("the test waits for the start");
            finished.recv().is_ok()
        });
        tokio::select! {
            _ = request => panic!("the work ended too early"),
            started = begun => started.expect("the work started"),
        }
        assert_eq!(work.queries.available_permits(), QUERIES - 1);
        finish.send(()).expect("the work runs");
        while work.queries.available_permits() < QUERIES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn answer_larger_than_the_budget_takes_all_of_it() {
        let work = Work::default();
        let budget = work
            .sending_budget(usize::MAX)
            .await
            .expect("the budget is free");
        assert_eq!(work.sending.available_permits(), 0);
        drop(budget);
        assert_eq!(
            work.sending.available_permits(),
            SENDING_BYTES / PERMIT_BYTES
        );
    }
}
