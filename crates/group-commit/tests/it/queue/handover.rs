use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use group_commit::{Commit, CommitError, Limits, Queue, SubmitError};

use crate::queue::gate::{Gate, arrive, arrive_behind, closed_queue, job};

/// A committer that numbers its commits from 1. A request's verdict is the number of its commit.
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
async fn commit_without_fill_yields_starts_before_the_last_callers_are_answered() {
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
        // A caller that is answered after the next commit has started sees a larger count.
        let (number, started) = caller.await.unwrap();
        // The first caller commits alone, then four batches of two follow. After the last one there
        // is nothing left to start.
        assert!(
            started > number || number == 5,
            "commit {number} answered when {started} had started"
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

/// The number of batches for eight callers that submit twenty requests each, one after the other, on
/// one thread.
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

/// The leader waits for the callers it has just answered, so each round of the loop is one batch.
#[tokio::test]
async fn leader_waits_for_the_callers_it_has_answered() {
    // The first caller commits alone, and stays one round ahead of the others.
    assert_eq!(batches_of_a_closed_loop(&numbered(1)).await, 21);
}

/// After a batch with several callers, the leader of the next batch waits for the others, even if it
/// finds the queue empty.
#[tokio::test]
async fn first_of_several_callers_yields_to_the_others() {
    let queue = numbered(1);
    batches_of_a_closed_loop(&queue).await;
    for _ in 0..3 {
        assert_eq!(batches_of_a_closed_loop(&queue).await, 20);
    }
    // After several lone batches, a caller does not yield.
    for _ in 0..2 {
        queue.submit(()).await.unwrap();
    }
    assert_eq!(batches_of_a_closed_loop(&queue).await, 21);
}

#[test]
fn callers_on_another_runtime_continue_after_the_drivers_runtime_shuts_down() {
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
            "the follower commits after the leader's commit was dropped"
        );
    });
}

#[tokio::test]
async fn spawner_that_drops_its_task_causes_outcome_unknown_and_the_queue_continues() {
    let queue = Arc::new(Queue::with_spawner(Gate::closed(), Limits::default(), drop));
    for id in [0, 1] {
        let outcome = queue.submit(job(id)).await;
        assert_eq!(outcome, Err(SubmitError::OutcomeUnknown));
    }
    queue.committer().let_through(1);
    assert_eq!(queue.submit(job(2)).await, Ok(1));
    assert_eq!(queue.committer().written(), [2]);
}

/// If callers have arrived together, a task yields before it commits. A task that is dropped before
/// it takes a batch has begun nothing, so its request is still committed.
#[tokio::test]
async fn request_whose_task_was_dropped_before_the_commit_is_committed() {
    let drops = Arc::new(AtomicBool::new(false));
    let spawn = {
        let drops = Arc::clone(&drops);
        move |drive| {
            if !drops.load(Ordering::SeqCst) {
                tokio::spawn(drive);
            }
        }
    };
    let queue = Arc::new(Queue::with_spawner(
        Gate::closed(),
        Limits::default(),
        spawn,
    ));
    let (leader, waiting) = arrive_behind(&queue, &[1, 2]).await;
    queue.committer().let_through(3);
    for caller in waiting.into_iter().chain([leader]) {
        caller.await.unwrap().unwrap();
    }
    drops.store(true, Ordering::SeqCst);
    assert_eq!(queue.submit(job(3)).await, Ok(4));
}

/// The future of the first caller is polled once and then held, while the same task goes on.
#[tokio::test]
async fn held_caller_delays_no_other() {
    let queue = Arc::new(Queue::new(Numbered::default(), Limits::default()));
    let mut held = pin!(queue.submit(()));
    assert!(poll_once(held.as_mut()).is_pending());
    for number in 2..5 {
        assert_eq!(queue.submit(()).await, Ok(number));
    }
    let mut queued = pin!(queue.submit(()));
    assert!(poll_once(queued.as_mut()).is_pending());
    queue.close().await;
    assert_eq!((held.await, queued.await), (Ok(1), Ok(5)));
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The queue spawns its tasks where it was made, if its caller runs outside a runtime.
#[test]
fn caller_outside_a_runtime_is_committed_by_the_runtime_of_the_queue() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let queue = runtime.block_on(async { closed_queue(Limits::default()) });
    let mut outside = pin!(queue.submit(job(0)));
    assert!(poll_once(outside.as_mut()).is_pending());
    queue.committer().let_through(1);
    assert_eq!(runtime.block_on(outside), Ok(1));
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
