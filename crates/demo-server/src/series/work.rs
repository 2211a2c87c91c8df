use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Queries that are answered at once: each may hold the samples of its budget, and its answer.
const QUERIES: usize = 4;
/// Large or compressed bodies that are written at once: each may grow to many times its length.
const BODIES: usize = 2;
/// The bytes of large answers that are being sent.
const SENDING_BYTES: usize = 512 << 20;
/// The unit of these.
const PAGE: usize = 4096;
/// How long one may wait for a place.
const LIMIT: Duration = Duration::from_secs(10);

/// The places for work that takes a core or memory for long. It runs on threads of its own.
#[derive(Debug)]
pub(crate) struct Work {
    queries: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    sending: Arc<Semaphore>,
}

/// A place, given back on drop. Who holds memory for others keeps it as long.
pub(super) type Place = OwnedSemaphorePermit;

impl Default for Work {
    fn default() -> Self {
        Self {
            queries: Arc::new(Semaphore::new(QUERIES)),
            bodies: Arc::new(Semaphore::new(BODIES)),
            sending: Arc::new(Semaphore::new(SENDING_BYTES / PAGE)),
        }
    }
}

impl Work {
    /// Answers a query; the place goes with the answer.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Place), ApiError> {
        run(&self.queries, "too many queries are being answered", work).await
    }

    /// Reads and writes a body.
    pub(super) async fn body<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let done = run(&self.bodies, "too many bodies are being written", work).await;
        done.map(|(result, _)| result)
    }

    /// Room to send an answer of so many bytes.
    pub(super) async fn room_for(&self, bytes: usize) -> Result<Place, ApiError> {
        let pages = bytes.min(SENDING_BYTES).div_ceil(PAGE) as u32;
        let room = Arc::clone(&self.sending).acquire_many_owned(pages);
        let room = tokio::time::timeout(LIMIT, room).await;
        room.ok()
            .and_then(Result::ok)
            .ok_or_else(|| ApiError::overloaded("too many answers are being sent"))
    }
}

async fn run<T: Send + 'static>(
    places: &Arc<Semaphore>,
    refusal: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, Place), ApiError> {
    let place = tokio::time::timeout(LIMIT, Arc::clone(places).acquire_owned()).await;
    let Ok(Ok(place)) = place else {
        return Err(ApiError::overloaded(refusal));
    };
    // The work has the place, not the request: it goes on when the client has gone.
    let done = tokio::task::spawn_blocking(move || (work(), place)).await;
    done.map_err(|failed| ApiError::internal(&failed))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_keeps_its_place_when_its_request_is_gone() {
        let work = Work::default();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (finish, finished) = mpsc::channel::<()>();
        let request = work.query(move || {
            begin.send(()).expect("the test waits");
            finished.recv().is_ok()
        });
        tokio::select! {
            _ = request => panic!("it ended before it was told to"),
            started = begun => started.expect("it began"),
        }
        assert_eq!(work.queries.available_permits(), QUERIES - 1);
        finish.send(()).expect("it runs");
        while work.queries.available_permits() < QUERIES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn an_answer_larger_than_all_room_takes_all_of_it() {
        let work = Work::default();
        let room = work.room_for(usize::MAX).await.expect("room");
        assert_eq!(work.sending.available_permits(), 0);
        drop(room);
        assert_eq!(work.sending.available_permits(), SENDING_BYTES / PAGE);
    }
}
