use std::sync::Arc;

use group_commit::{Commit, CommitError, Limits, Queue, SubmitError};

use crate::queue::gate::{BOMB, arrive_behind, closed_queue, job, until};

#[tokio::test]
async fn close_refuses_new_requests_and_waits_for_queued_ones() {
    let queue = closed_queue(Limits {
        max_queued_requests: 1,
        ..Limits::default()
    });
    let (leader, waiting) = arrive_behind(&queue, &[1, 2]).await;
    let closing = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.close().await }
    });
    until(|| queue.is_closed()).await;
    assert_eq!(queue.submit(job(3)).await, Err(SubmitError::Closed));
    assert!(!closing.is_finished());

    queue.committer().let_through(3);
    closing.await.unwrap();
    assert_eq!(queue.committer().written(), [0, 1, 2]);
    for caller in waiting.into_iter().chain([leader]) {
        assert!(caller.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn close_is_idempotent_and_survives_a_panicking_committer() {
    let queue = closed_queue(Limits::default());
    queue.committer().let_through(1);
    assert_eq!(queue.submit(job(BOMB)).await, Err(SubmitError::Panicked));
    tokio::join!(queue.close(), queue.close());
    queue.close().await;
    assert_eq!(queue.submit(job(1)).await, Err(SubmitError::Closed));
}

/// A committer that shares an `Arc` with the test. The `Arc`'s count shows when the queue has dropped
/// the committer.
struct Counted(#[expect(dead_code, reason = "held, never read")] Arc<()>);

impl Commit for Counted {
    type Request = Arc<()>;
    type Verdict = ();
    type Error = ();

    fn size_bytes(&self, _: &Arc<()>) -> usize {
        0
    }

    async fn commit(&self, batch: &mut [Arc<()>]) -> Result<Vec<()>, CommitError<()>> {
        tokio::task::yield_now().await;
        Ok(vec![(); batch.len()])
    }
}

#[tokio::test]
async fn dropped_queue_frees_its_state() {
    let count = Arc::new(());
    let queue = Arc::new(Queue::new(Counted(Arc::clone(&count)), Limits::default()));
    for number in 0..20 {
        let (queue, request) = (Arc::clone(&queue), Arc::clone(&count));
        let caller = tokio::spawn(async move { queue.submit(request).await });
        if number % 3 == 0 {
            tokio::task::yield_now().await;
            caller.abort();
        }
    }
    drop(queue);
    until(|| Arc::strong_count(&count) == 1).await;
}
