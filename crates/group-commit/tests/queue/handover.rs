use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use group_commit::{Commit, CommitError, Limits, Queue, SubmitError};

use crate::gate::{Gate, arrive, arrive_behind, closed_queue, job};

/// The verdict is the number of the commit.
#[derive(Default)]
struct Numbered {
    started: AtomicU64,
}

impl Commit for Numbered {
    type Request = ();
    type Verdict = u64;
    type Error = ();

    fn size_bytes(&self, (): &()) -> usize {
        1
    }

    async fn commit(&self, batch: &mut [()]) -> Result<Vec<u64>, CommitError<()>> {
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        Ok(vec![number; batch.len()])
    }
}

#[tokio::test]
async fn without_fill_yields_a_commit_starts_before_the_callers_of_the_last_are_answered() {
    let limits = Limits {
        max_batch_requests: 2,
        fill_yields: 0,
        ..Limits::default()
    };
    let queue = Arc::new(Queue::new(Numbered::default(), limits));
    let callers = [(); 9].map(|()| {
        let queue = Arc::clone(&queue);
        tokio::spawn(async move {
            let number = queue.submit(()).await.unwrap();
            (number, queue.committer().started.load(Ordering::SeqCst))
        })
    });
    for caller in callers {
        let (number, started) = caller.await.unwrap();
        // The leader alone, then four batches of two, of which the last has no successor.
        assert!(
            started > number || number == 5,
            "answered {number} with {started} started"
        );
    }
    assert_eq!(queue.stats().batches, 5);
}

fn numbered(fill_yields: u32) -> Arc<Queue<Numbered>> {
    let limits = Limits {
        fill_yields,
        ..Limits::default()
    };
    Arc::new(Queue::new(Numbered::default(), limits))
}

/// Eight callers in a closed loop of twenty rounds, on one thread: how many batches their requests
/// made.
async fn batches_of_a_closed_loop(queue: &Arc<Queue<Numbered>>) -> u64 {
    let before = queue.stats().batches;
    let callers = [(); 8].map(|()| {
        let queue = Arc::clone(queue);
        tokio::spawn(async move {
            for _ in 0..20 {
                queue.submit(()).await.unwrap();
            }
        })
    });
    for caller in callers {
        caller.await.unwrap();
    }
    queue.stats().batches - before
}

#[tokio::test]
async fn fill_yields_let_the_answered_callers_join_the_next_batch() {
    let (at_once, filled) = (
        batches_of_a_closed_loop(&numbered(0)).await,
        batches_of_a_closed_loop(&numbered(3)).await,
    );
    assert!(
        filled < at_once,
        "{filled} batches with yields, {at_once} without"
    );
}

/// Each round of a closed loop is one batch: the writer waits for those whom it has answered.
#[tokio::test]
async fn the_writer_waits_for_those_whom_it_has_answered() {
    // The first caller commits alone, and is a round ahead of the others from then on.
    assert_eq!(batches_of_a_closed_loop(&numbered(1)).await, 21);
}

/// As soon as callers have come together once, the first of them waits for the others too.
#[tokio::test]
async fn the_first_of_a_crowd_gives_way_to_the_others() {
    let queue = numbered(1);
    batches_of_a_closed_loop(&queue).await;
    for _ in 0..3 {
        assert_eq!(batches_of_a_closed_loop(&queue).await, 20);
    }
    // A caller that has been alone for a while has nobody to give way to.
    for _ in 0..2 {
        queue.submit(()).await.unwrap();
    }
    assert_eq!(batches_of_a_closed_loop(&queue).await, 21);
}

#[test]
fn callers_on_another_runtime_go_on_when_the_drivers_runtime_is_shut_down() {
    let [doomed, surviving] = [(); 2].map(|()| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    });
    let queue = doomed.block_on(async { closed_queue(Limits::default()) });
    let leader = doomed.block_on(arrive(&queue, job(0)));
    let follower = surviving.block_on(arrive(&queue, job(1)));
    doomed.shutdown_background();
    surviving.block_on(async {
        assert!(leader.await.unwrap_err().is_cancelled());
        queue.committer().let_through(1);
        assert_eq!(
            follower.await.unwrap(),
            Ok(1),
            "the commit of the leader was dropped"
        );
    });
}

#[tokio::test]
async fn a_spawner_that_drops_its_task_leaves_the_outcome_unknown_and_the_queue_going() {
    // Without fill yields the commit for the follower has begun when it is handed over.
    let limits = Limits {
        fill_yields: 0,
        ..Limits::default()
    };
    let queue = Arc::new(Queue::with_spawner(Gate::closed(), limits, drop));
    let (leader, mut waiting) = arrive_behind(&queue, &[1]).await;
    queue.committer().let_through(1);
    assert_eq!(leader.await.unwrap(), Ok(1));
    let follower = waiting.remove(0).await.unwrap();
    assert_eq!(follower, Err(SubmitError::OutcomeUnknown));
    queue.committer().let_through(1);
    assert_eq!(queue.submit(job(2)).await, Ok(2));
}

#[test]
fn submitting_is_send() {
    fn send<T: Send>(_: &T) {}
    let queue = Queue::with_spawner(Gate::open(), Limits::default(), drop);
    send(&queue.submit(job(0)));
    send(&queue.submit_until(job(0), std::future::pending()));
    send(&queue.try_submit(job(0)));
    send(&queue.close());
}
