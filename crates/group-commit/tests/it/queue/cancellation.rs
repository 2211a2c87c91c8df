use std::future::{Future, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use group_commit::{Limits, SubmitError};
use tokio::sync::oneshot;

use crate::queue::gate::{arrive, arrive_behind, closed_queue, job, until};

#[tokio::test]
async fn caller_dropped_while_queued_is_withdrawn_and_frees_its_room() {
    let queue = closed_queue(Limits {
        max_queued_requests: 2,
        ..Limits::default()
    });
    let (_leader, waiting) = arrive_behind(&queue, &[1, 2, 3]).await;
    waiting[0].abort();
    until(|| queue.stats().withdrawn == 1).await;
    let stats = queue.stats();
    assert_eq!(
        (stats.queued, stats.queued_bytes, stats.waiting_for_room),
        (2, 2, 0)
    );

    queue.committer().let_through(2);
    queue.close().await;
    assert_eq!(queue.committer().started(), [vec![0], vec![2, 3]]);
}

#[tokio::test]
async fn caller_dropped_while_waiting_for_room_is_withdrawn() {
    let queue = closed_queue(Limits {
        max_queued_requests: 1,
        ..Limits::default()
    });
    let (_leader, waiting) = arrive_behind(&queue, &[1, 2]).await;
    waiting[1].abort();
    until(|| queue.stats().withdrawn == 1).await;
    queue.committer().let_through(2);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1]);
}

#[tokio::test]
async fn leader_dropped_in_flight_leaves_its_commit_to_a_task() {
    let queue = closed_queue(Limits::default());
    let (leader, waiting) = arrive_behind(&queue, &[1]).await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    queue.committer().let_through(2);
    for caller in waiting {
        assert_eq!(caller.await.unwrap(), Ok(2));
    }
    assert_eq!(
        queue.committer().started(),
        [[0], [1]],
        "each request is committed once"
    );
}

#[tokio::test]
async fn caller_dropped_in_flight_does_not_affect_its_batch() {
    let queue = closed_queue(Limits::default());
    let (leader, mut waiting) = arrive_behind(&queue, &[1, 2, 3]).await;
    queue.committer().let_through(1);
    assert_eq!(leader.await.unwrap(), Ok(1));
    // The second batch is in flight, so its requests can't be withdrawn any more.
    until(|| queue.committer().started().len() == 2).await;
    waiting.remove(1).abort();
    queue.committer().let_through(1);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1, 2, 3]);
    assert_eq!(queue.stats().withdrawn, 0);
}

#[tokio::test]
async fn deadline_while_queued_withdraws_the_request() {
    let queue = closed_queue(Limits::default());
    let _leader = arrive(&queue, job(0)).await;
    let outcome = queue.submit_until(job(1), tokio::task::yield_now()).await;
    assert_eq!(outcome, Err(SubmitError::TimedOut));
    queue.committer().let_through(1);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0]);
}

#[tokio::test]
async fn deadline_in_flight_returns_outcome_unknown_and_the_commit_goes_on() {
    let queue = closed_queue(Limits::default());
    let in_flight = until(|| !queue.committer().started().is_empty());
    let outcome = queue.submit_until(job(0), in_flight).await;
    assert_eq!(outcome, Err(SubmitError::OutcomeUnknown), "the leader");

    let (pass, passed) = oneshot::channel::<()>();
    let follower = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move {
            queue
                .submit_until(job(1), async { drop(passed.await) })
                .await
        }
    });
    until(|| queue.stats().queued == 1).await;
    queue.committer().let_through(1);
    until(|| queue.committer().started().len() == 2).await;
    pass.send(()).unwrap();
    assert_eq!(
        follower.await.unwrap(),
        Err(SubmitError::OutcomeUnknown),
        "the follower"
    );

    queue.committer().let_through(1);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1]);
}

/// After a batch with several callers, the leader of the next batch yields before it commits, so that
/// the others can join. Until the commit begins, its request can be withdrawn like any other.
#[tokio::test]
async fn leader_dropped_while_yielding_is_withdrawn() {
    let queue = closed_queue(Limits::default());
    let (leader, waiting) = arrive_behind(&queue, &[1, 2]).await;
    queue.committer().let_through(2);
    for caller in waiting.into_iter().chain([leader]) {
        caller.await.unwrap().unwrap();
    }

    // The deadline passes while the leader yields.
    let outcome = queue.submit_until(job(0), tokio::task::yield_now()).await;
    assert_eq!(outcome, Err(SubmitError::TimedOut));
    assert!(pending_once(queue.submit(job(3))), "the leader yields");
    assert_eq!(queue.stats().withdrawn, 2);

    queue.committer().let_through(1);
    assert_eq!(queue.submit(job(4)).await, Ok(4));
    assert_eq!(queue.committer().written(), [0, 1, 2, 4]);
}

/// Whether the first poll of `future` is pending. Drops the future.
fn pending_once(future: impl Future) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    pin!(future).poll(&mut cx).is_pending()
}

#[tokio::test]
async fn submit_after_its_deadline_never_arrives() {
    let queue = closed_queue(Limits::default());
    assert_eq!(
        queue.submit_until(job(0), ready(())).await,
        Err(SubmitError::TimedOut)
    );
    assert_eq!(queue.stats().batches, 0);
}
