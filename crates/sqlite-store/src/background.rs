//! Runs blocking work outside the threads of the async runtime.

use std::panic::resume_unwind;

use group_commit::CommitError;
use tokio::task::spawn_blocking;

/// Calls `work` on tokio's blocking pool. `None` if the runtime shut down before the work started.
pub async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match spawn_blocking(work).await {
        Ok(done) => Some(done),
        // Panic in the caller's task, as if the work had run there.
        Err(failed) if failed.is_panic() => resume_unwind(failed.into_panic()),
        Err(_) => None,
    }
}

/// Commits a batch on tokio's blocking pool, in one task. `None` if the runtime shut down before the
/// commit started, so nothing was written. `take` moves a request out of its place.
pub async fn commit_in_background<R, V, E>(
    batch: &mut [R],
    take: impl FnMut(&mut R) -> R,
    commit: impl FnOnce(&[R]) -> Result<Vec<V>, CommitError<E>> + Send + 'static,
) -> Option<Result<Vec<V>, CommitError<E>>>
where
    R: Send + 'static,
    V: Send + 'static,
    E: Send + 'static,
{
    // The blocking task must own the requests.
    let requests: Vec<R> = batch.iter_mut().map(take).collect();
    let work = move || (commit(&requests), requests);
    let (verdicts, requests) = in_background(work).await?;
    // Give the requests back: the queue commits some of them again.
    for (place, request) in batch.iter_mut().zip(requests) {
        *place = request;
    }
    Some(verdicts)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn commit_leaves_the_runtime_thread_and_gives_its_requests_back() {
        let runtime = thread::current().id();
        let mut batch = [1, 2];
        let commit = move |batch: &[u32]| {
            assert_ne!(thread::current().id(), runtime);
            Err::<Vec<()>, _>(CommitError::Refused(batch.to_vec()))
        };
        let refused = commit_in_background(&mut batch, std::mem::take, commit).await;
        assert_eq!(refused, Some(Err(CommitError::Refused(vec![1, 2]))));
        assert_eq!(batch, [1, 2]);
    }
}
