use std::sync::Mutex;

use group_commit::{Commit, CommitError, Limits, Queue};

use crate::queue::gate::{Job, arrive, arrive_behind, closed_queue, job};

#[tokio::test]
async fn idle_queue_commits_in_the_callers_task() {
    struct Tasks(Mutex<Vec<Option<tokio::task::Id>>>);
    impl Commit for Tasks {
        type Request = ();
        type Verdict = ();
        type Error = ();
        fn size_bytes(&self, (): &()) -> usize {
            0
        }
        async fn commit(&self, batch: &mut [()]) -> Result<Vec<()>, CommitError<()>> {
            self.0.lock().unwrap().push(tokio::task::try_id());
            Ok(batch.to_vec())
        }
    }
    let spawn = |_| panic!("an idle queue spawns nothing");
    let queue = Queue::with_spawner(Tasks(Mutex::default()), Limits::default(), spawn);
    let caller = tokio::spawn(async move {
        queue.submit(()).await.unwrap();
        queue.submit(()).await.unwrap();
        queue.committer().0.lock().unwrap().clone()
    });
    let own = Some(caller.id());
    assert_eq!(caller.await.unwrap(), [own, own]);
}

#[tokio::test]
async fn requests_arriving_during_a_commit_form_the_next_batch_in_order() {
    let queue = closed_queue(Limits::default());
    let (leader, waiting) = arrive_behind(&queue, &[1, 2, 3, 4]).await;
    queue.committer().let_through(2);
    assert_eq!(leader.await.unwrap(), Ok(1));
    for (caller, position) in waiting.into_iter().zip(2..) {
        assert_eq!(caller.await.unwrap(), Ok(position));
    }
    assert_eq!(queue.committer().started(), [vec![0], vec![1, 2, 3, 4]]);
    let stats = queue.stats();
    assert_eq!(
        (stats.batches, stats.requests, stats.largest_batch),
        (2, 5, 4)
    );
}

#[tokio::test]
async fn batch_is_bounded_by_requests() {
    let queue = closed_queue(Limits {
        max_batch_requests: 2,
        ..Limits::default()
    });
    let (_leader, _waiting) = arrive_behind(&queue, &[1, 2, 3, 4, 5]).await;
    queue.committer().let_through(4);
    queue.close().await;
    assert_eq!(
        queue.committer().started(),
        [vec![0], vec![1, 2], vec![3, 4], vec![5]]
    );
}

#[tokio::test]
async fn batch_is_bounded_by_bytes_and_a_larger_request_goes_alone() {
    let queue = closed_queue(Limits {
        max_batch_bytes: 10,
        ..Limits::default()
    });
    let mut callers = vec![arrive(&queue, job(0)).await];
    for (id, bytes) in [(1, 5), (2, 5), (3, 1), (4, 11), (5, 1)] {
        callers.push(arrive(&queue, Job { id, bytes }).await);
    }
    queue.committer().let_through(5);
    queue.close().await;
    assert_eq!(
        queue.committer().started(),
        [vec![0], vec![1, 2], vec![3], vec![4], vec![5]]
    );
}
