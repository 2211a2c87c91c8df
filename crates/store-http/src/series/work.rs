use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::turn::{Stopped, Turn};
use crate::error::ApiError;

/// Maximum number of concurrent long queries. Each may hold the samples of its budget and its answer.
const LONG_QUERIES: usize = 4;
/// Maximum number of concurrent queries that are not long yet. Each may hold the samples that it
/// reads before it asks for the first time whether it goes on: about 4 MB.
const QUERIES: usize = 16;
/// Maximum number of large or compressed bodies that are parsed at once. Each may grow to many
/// times its size.
const BODIES: usize = 2;
/// Maximum number of bytes of large answers that are being sent.
const SENDING_BYTES: usize = 512 << 20;
/// One permit of the sending budget, in bytes.
const PERMIT_BYTES: usize = 4096;
const QUERIES_REFUSAL: &str = "too many queries are running";
const BODIES_REFUSAL: &str = "too many bodies are being parsed";
/// How long a request may wait for a permit.
const LIMIT: Duration = Duration::from_secs(10);

/// Limits for work that takes much CPU time or memory. The work runs on blocking threads.
///
/// A query begins as a short one. It becomes long when it asks its [`Turn`] whether it goes on, which
/// takes a place among the long ones. So short queries do not wait behind long ones.
#[derive(Debug)]
pub(crate) struct Work {
    queries: Arc<Semaphore>,
    long_queries: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    sending: Arc<Semaphore>,
}

/// A permit, released on drop. It stays with the memory that it stands for.
pub(super) type Permit = OwnedSemaphorePermit;

impl Default for Work {
    fn default() -> Self {
        Self {
            queries: Arc::new(Semaphore::new(QUERIES)),
            long_queries: Arc::new(Semaphore::new(LONG_QUERIES)),
            bodies: Arc::new(Semaphore::new(BODIES)),
            sending: Arc::new(Semaphore::new(SENDING_BYTES / PERMIT_BYTES)),
        }
    }
}

impl Work {
    /// Runs a query. It ends early if the caller drops the future. The caller keeps the permit as
    /// long as the result is in memory.
    ///
    /// A query that becomes long while there is no place for it waits, and then begins again.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        work: impl Fn(&Arc<Turn>) -> Result<T, Stopped> + Send + Sync + 'static,
    ) -> Result<(T, Permit), ApiError> {
        let work = Arc::new(work);
        let short = within_limit(&self.queries, 1, QUERIES_REFUSAL).await?;
        let turn = Turn::short(short, &self.long_queries);
        let done = on_blocking_thread(turn, Arc::clone(&work)).await?;
        if let Some(done) = done {
            return Ok(done);
        }
        let long = within_limit(&self.long_queries, 1, QUERIES_REFUSAL).await?;
        let done = on_blocking_thread(Turn::long(long, &self.long_queries), work).await?;
        // Only a caller that is gone ends a query that has its place, and such a caller sees no answer.
        done.ok_or_else(|| ApiError::overloaded(QUERIES_REFUSAL))
    }

    /// Runs work on the whole database to its end, even after the caller is gone.
    pub(super) async fn maintenance<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        to_its_end(&self.long_queries, 1, QUERIES_REFUSAL, work).await
    }

    /// Parses and writes a body.
    pub(super) async fn body<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        to_its_end(&self.bodies, 1, BODIES_REFUSAL, work).await
    }

    /// Like [`Work::body`], for a body that may take much memory: no other body is parsed beside it.
    pub(super) async fn large_body<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        to_its_end(&self.bodies, BODIES as u32, BODIES_REFUSAL, work).await
    }

    /// Waits until the sending budget has room for an answer of this size.
    pub(super) async fn sending_budget(&self, bytes: usize) -> Result<Permit, ApiError> {
        // An answer larger than the whole budget takes all of it instead of waiting forever.
        let permits = bytes.min(SENDING_BYTES).div_ceil(PERMIT_BYTES) as u32;
        within_limit(&self.sending, permits, "too many answers are being sent").await
    }
}

async fn within_limit(
    semaphore: &Arc<Semaphore>,
    permits: u32,
    refusal: &str,
) -> Result<Permit, ApiError> {
    let permit = Arc::clone(semaphore).acquire_many_owned(permits);
    let permit: Option<Result<_, AcquireError>> = timeout(LIMIT, permit).await.ok();
    permit
        .and_then(Result::ok)
        .ok_or_else(|| ApiError::overloaded(refusal))
}

/// Runs work that goes on after its caller is gone.
async fn to_its_end<T: Send + 'static>(
    semaphore: &Arc<Semaphore>,
    permits: u32,
    refusal: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let permit = within_limit(semaphore, permits, refusal).await?;
    // The work holds the permit, not the request: blocking work continues after the client is gone.
    let done = tokio::task::spawn_blocking(move || (work(), permit)).await;
    done.map(|(result, _)| result)
        .map_err(|failed| ApiError::internal(&failed))
}

/// Runs a query in its turn, and stops it if the future is dropped. `None` if it was stopped.
async fn on_blocking_thread<T: Send + 'static>(
    turn: Turn,
    work: Arc<impl Fn(&Arc<Turn>) -> Result<T, Stopped> + Send + Sync + 'static>,
) -> Result<Option<(T, Permit)>, ApiError> {
    let turn = Arc::new(turn);
    let _stopped_on_drop = turn.stopped_on_drop();
    // The turn holds the permit, not the request: the work goes on for a moment after the client is
    // gone.
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&turn);
        done.ok().zip(turn.end())
    });
    done.await.map_err(|failed| ApiError::internal(&failed))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    /// A query ran to its end after its client was gone.
    #[tokio::test]
    async fn query_stops_and_releases_its_permit_when_its_request_is_dropped() {
        let work = Work::default();
        let (begin, begun) = mpsc::channel();
        let request = work.query(move |turn| {
            while turn.goes_on() {
                let _ = begin.send(());
                std::thread::sleep(Duration::from_millis(1));
            }
            Err::<(), _>(Stopped)
        });
        let started = tokio::task::spawn_blocking(move || begun.recv());
        tokio::select! {
            _ = request => panic!("the query ended too early"),
            started = started => started.expect("a thread").expect("the query started"),
        }
        while work.long_queries.available_permits() < LONG_QUERIES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(work.queries.available_permits(), QUERIES);
    }

    /// Four long queries held every permit, so a query of one number waited for them.
    #[tokio::test]
    async fn short_queries_do_not_wait_for_long_ones() {
        let work = Arc::new(Work::default());
        let (finish, finished) = mpsc::channel::<()>();
        let finished = parking_lot::Mutex::new(finished);
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let long = Arc::new(move |turn: &Arc<Turn>| {
            counted.fetch_add(1, Ordering::Relaxed);
            if !turn.goes_on() {
                return Err(Stopped);
            }
            let _ = finished.lock().recv();
            Ok(())
        });
        // More than have a place.
        let count = LONG_QUERIES + QUERIES;
        let running: Vec<_> = (0..count)
            .map(|_| {
                let (work, long) = (Arc::clone(&work), Arc::clone(&long));
                // Dropped at once: an answer that lies there would keep its place.
                tokio::spawn(async move { work.query(move |turn| long(turn)).await.map(drop) })
            })
            .collect();
        while runs.load(Ordering::Relaxed) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let short = work.query(|_| Ok(1)).await.expect("a place is free");
        assert_eq!(short.0, 1);
        drop((short, finish));
        for request in running {
            let done = request.await.expect("a task");
            assert!(done.is_ok(), "it waits for its place");
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
