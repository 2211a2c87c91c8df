//! The blocking work of an async store: in the calling task or on the blocking pool.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use group_commit::CommitError;
use store_fault::Fault;
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

/// The commits of an async store.
///
/// A commit takes about 100 us on an SSD, and the way to the blocking pool and back 40 us. So a batch is
/// committed by the task that leads it, while commits are short. After a commit of more than a
/// millisecond, or one that would have to wait for another connection, commits run on the blocking pool,
/// until one of them is short again.
#[derive(Debug, Default)]
pub struct AsyncCommits {
    are_slow: AtomicBool,
}

impl AsyncCommits {
    /// A longer commit is slow.
    const LONGEST: Duration = Duration::from_millis(1);

    /// Commits a batch. `at_once` commits it without a wait for another connection, or returns `None`;
    /// `commit` may wait. Both write the batch in one transaction. `take` moves a request out of its place.
    ///
    /// # Errors
    /// [`Fault::Closed`] if the runtime shut down before the commit started, so nothing was written; those of
    /// `at_once` and `commit`.
    pub async fn commit<W, R, V, E>(
        &self,
        writer: &Arc<W>,
        batch: &mut [R],
        take: impl FnMut(&mut R) -> R,
        at_once: impl FnOnce(&W, &[R]) -> Option<Result<Vec<V>, CommitError<E>>>,
        commit: impl FnOnce(&W, &[R]) -> Result<Vec<V>, CommitError<E>> + Send + 'static,
    ) -> Result<Vec<V>, CommitError<E>>
    where
        W: Send + Sync + 'static,
        R: Send + 'static,
        V: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        if !self.are_slow.load(Ordering::Relaxed) {
            let begun = Instant::now();
            if let Some(committed) = at_once(writer, batch) {
                self.took(begun.elapsed());
                return committed;
            }
        }
        // The blocking task must own the requests.
        let requests: Vec<R> = batch.iter_mut().map(take).collect();
        let writer = Arc::clone(writer);
        let work = move || {
            let begun = Instant::now();
            (commit(&writer, &requests), requests, begun.elapsed())
        };
        let Some((committed, requests, took)) = in_background(work).await else {
            return Err(CommitError::Failed(Fault::Closed.into()));
        };
        self.took(took);
        // Give the requests back: the queue commits some of them again.
        for (place, request) in batch.iter_mut().zip(requests) {
            *place = request;
        }
        committed
    }

    fn took(&self, took: Duration) {
        self.are_slow.store(took > Self::LONGEST, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{self, ThreadId};

    use super::*;

    /// Commits three times, where `at_once` takes this long. The threads of the commits.
    async fn threads(at_once: Option<Duration>) -> [ThreadId; 3] {
        let (commits, writer) = (AsyncCommits::default(), Arc::new(()));
        let mut batch = [1, 2];
        let mut threads = [thread::current().id(); 3];
        for thread in &mut threads {
            let here = || Ok::<_, CommitError<Fault>>(vec![thread::current().id()]);
            let commit = commits.commit(
                &writer,
                &mut batch,
                std::mem::take,
                |_, _| {
                    thread::sleep(at_once?);
                    Some(here())
                },
                move |_, batch| {
                    assert_eq!(batch, [1, 2]);
                    here()
                },
            );
            *thread = commit.await.unwrap()[0];
            assert_eq!(batch, [1, 2]);
        }
        threads
    }

    #[tokio::test]
    async fn short_commits_stay_in_the_calling_task() {
        let runtime = thread::current().id();
        assert_eq!(threads(Some(Duration::ZERO)).await, [runtime; 3]);
    }

    #[tokio::test]
    async fn commit_after_a_slow_one_leaves_the_runtime_thread_once() {
        let runtime = thread::current().id();
        let slow = threads(Some(AsyncCommits::LONGEST * 2)).await;
        assert_eq!(slow.map(|thread| thread == runtime), [true, false, true]);
    }

    #[tokio::test]
    async fn commit_that_would_wait_leaves_the_runtime_thread() {
        let runtime = thread::current().id();
        assert!(!threads(None).await.contains(&runtime));
    }
}
