use group_commit::{Limits, SubmitError};

use crate::queue::gate::{Job, arrive, arrive_behind, closed_queue, job};

#[tokio::test]
async fn full_queue_refuses_try_submit_and_lets_submit_wait() {
    let queue = closed_queue(Limits {
        max_queued_requests: 2,
        ..Limits::default()
    });
    let (_leader, _waiting) = arrive_behind(&queue, &[1, 2, 3]).await;
    let stats = queue.stats();
    assert_eq!((stats.queued, stats.waiting_for_room), (2, 1));
    assert_eq!(queue.try_submit(job(4)).await, Err(SubmitError::Full));

    queue.committer().let_through(3);
    queue.close().await;
    assert_eq!(queue.committer().started(), [vec![0], vec![1, 2], vec![3]]);
}

#[tokio::test]
async fn try_submit_with_room_commits() {
    let queue = closed_queue(Limits::default());
    queue.committer().let_through(1);
    assert_eq!(queue.try_submit(job(1)).await, Ok(1));
}

#[tokio::test]
async fn the_queue_is_bounded_by_bytes() {
    let queue = closed_queue(Limits {
        max_queued_bytes: 10,
        ..Limits::default()
    });
    let _leader = arrive(&queue, job(0)).await;
    let _oversized = arrive(&queue, Job { id: 1, bytes: 100 }).await;
    assert_eq!(
        (queue.stats().queued, queue.stats().queued_bytes),
        (1, 100),
        "a request above the limit enters an empty queue"
    );
    let _waits = arrive(&queue, Job { id: 2, bytes: 4 }).await;
    assert_eq!(queue.stats().waiting_for_room, 1);

    queue.committer().let_through(3);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1, 2]);
}

/// If the sum of the sizes wrapped around, the queue would look empty.
#[tokio::test]
async fn sizes_whose_sum_overflows_never_share_the_queue() {
    let queue = closed_queue(Limits {
        max_queued_bytes: usize::MAX,
        ..Limits::default()
    });
    let _leader = arrive(&queue, job(0)).await;
    let bytes = usize::MAX;
    let _first = arrive(&queue, Job { id: 1, bytes }).await;
    let _second = arrive(&queue, Job { id: 2, bytes }).await;
    let stats = queue.stats();
    assert_eq!(
        (stats.queued, stats.queued_bytes, stats.waiting_for_room),
        (1, usize::MAX, 1)
    );

    queue.committer().let_through(3);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1, 2]);
    assert_eq!(queue.stats().queued_bytes, 0);
}

#[tokio::test]
async fn caller_waiting_for_room_is_not_overtaken() {
    let queue = closed_queue(Limits {
        max_queued_bytes: 10,
        ..Limits::default()
    });
    let _leader = arrive(&queue, job(0)).await;
    let _queued = arrive(&queue, Job { id: 1, bytes: 8 }).await;
    let _large = arrive(&queue, Job { id: 2, bytes: 5 }).await;
    assert_eq!(
        queue.try_submit(job(3)).await,
        Err(SubmitError::Full),
        "a request that fits overtook one that waits for room"
    );
    let _small = arrive(&queue, job(4)).await;

    queue.committer().let_through(3);
    queue.close().await;
    assert_eq!(queue.committer().written(), [0, 1, 2, 4]);
}

#[tokio::test]
async fn bounds_of_zero_count_as_one() {
    let none = Limits {
        max_batch_requests: 0,
        max_batch_bytes: 0,
        max_queued_requests: 0,
        max_queued_bytes: 0,
        fill_yields: 0,
    };
    let queue = closed_queue(none);
    let (_leader, _waiting) = arrive_behind(&queue, &[1, 2]).await;
    assert_eq!(
        (queue.stats().queued, queue.stats().waiting_for_room),
        (1, 1)
    );
    queue.committer().let_through(3);
    queue.close().await;
    assert_eq!(queue.committer().started(), [[0], [1], [2]]);
}
