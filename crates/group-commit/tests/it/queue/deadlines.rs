//! Requests whose deadline passes before their commit begins.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use group_commit::{
    BlockingQueue, Commit, CommitBlocking, CommitError, Limits, Queue, SubmitError,
};
use tokio::sync::Semaphore;

#[derive(Clone, Copy)]
struct Timed {
    id: u32,
    deadline: Option<Instant>,
}

fn timeless(id: u32) -> Timed {
    Timed { id, deadline: None }
}

fn due(id: u32, deadline: Instant) -> Timed {
    Timed {
        id,
        deadline: Some(deadline),
    }
}

/// Waits before each commit, and commits nothing that is late by then.
struct Slow {
    begins: Semaphore,
    calls: Mutex<Vec<Vec<u32>>>,
}

impl Slow {
    fn new(begins: usize) -> Self {
        Self {
            begins: Semaphore::new(begins),
            calls: Mutex::default(),
        }
    }

    fn decide(&self, batch: &[Timed]) -> Result<Vec<u32>, CommitError<()>> {
        let ids: Vec<u32> = batch.iter().map(|request| request.id).collect();
        self.calls.lock().unwrap().push(ids.clone());
        let ends = batch.iter().filter_map(|request| request.deadline);
        match ends.min().is_some_and(|end| Instant::now() >= end) {
            true => Err(CommitError::Late),
            false => Ok(ids),
        }
    }
}

impl Commit for Slow {
    type Request = Timed;
    type Verdict = u32;
    type Error = ();

    fn size_bytes(&self, _request: &Timed) -> usize {
        1
    }

    fn deadline(&self, request: &Timed) -> Option<Instant> {
        request.deadline
    }

    async fn commit(&self, batch: &mut [Timed]) -> Result<Vec<u32>, CommitError<()>> {
        self.begins.acquire().await.unwrap().forget();
        self.decide(batch)
    }
}

impl CommitBlocking for Slow {
    type Request = Timed;
    type Verdict = u32;
    type Error = ();

    fn size_bytes(&self, _request: &Timed) -> usize {
        1
    }

    fn deadline(&self, request: &Timed) -> Option<Instant> {
        request.deadline
    }

    fn commit(&self, batch: &mut [Timed]) -> Result<Vec<u32>, CommitError<()>> {
        self.decide(batch)
    }
}

fn calls(slow: &Slow) -> Vec<Vec<u32>> {
    slow.calls.lock().unwrap().clone()
}

#[tokio::test]
async fn late_request_never_reaches_the_committer_and_its_neighbours_do() {
    let queue = Queue::new(Slow::new(0), Limits::default());
    let mut first = pin!(queue.submit(timeless(0)));
    let mut held = pin!(queue.submit(due(1, Instant::now())));
    let mut last = pin!(queue.submit(timeless(2)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(held.as_mut().poll(&mut cx).is_pending());
    assert!(last.as_mut().poll(&mut cx).is_pending());

    queue.committer().begins.add_permits(2);
    assert_eq!(first.await, Ok(0));
    assert_eq!(last.await, Ok(2));
    assert_eq!(held.await, Err(SubmitError::TimedOut));
    assert_eq!(calls(queue.committer()), [[0], [2]]);
}

#[tokio::test]
async fn batch_of_late_requests_is_not_committed_and_the_queue_goes_on() {
    let queue = Queue::new(Slow::new(1), Limits::default());
    let late = queue.submit(due(0, Instant::now())).await;
    assert_eq!(late, Err(SubmitError::TimedOut));
    assert_eq!(queue.submit(timeless(1)).await, Ok(1));
    queue.close().await;
    assert_eq!(calls(queue.committer()), [[1]]);
}

#[tokio::test]
async fn request_that_ends_while_the_committer_waits_leaves_its_batch() {
    let queue = Arc::new(Queue::new(Slow::new(0), Limits::default()));
    let mut first = pin!(queue.submit(timeless(0)));
    let end = Instant::now() + Duration::from_millis(200);
    let mut ends = pin!(queue.submit(due(1, end)));
    let mut last = pin!(queue.submit(timeless(2)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(ends.as_mut().poll(&mut cx).is_pending());
    assert!(last.as_mut().poll(&mut cx).is_pending());
    queue.committer().begins.add_permits(1);
    assert_eq!(first.await, Ok(0));

    tokio::time::sleep_until(end.into()).await;
    queue.committer().begins.add_permits(2);
    assert_eq!(ends.await, Err(SubmitError::TimedOut));
    assert_eq!(last.await, Ok(2));
    // On a slow machine, the time of request 1 ends before its batch is taken.
    let calls = calls(queue.committer());
    assert!(
        calls[1..] == [vec![1, 2], vec![2]] || calls[1..] == [vec![2]],
        "{calls:?}"
    );
}

#[test]
fn late_request_of_a_thread_never_reaches_the_committer() {
    let queue = BlockingQueue::new(Slow::new(0), Limits::default());
    let late = queue.submit(due(0, Instant::now()));
    assert_eq!(late, Err(SubmitError::TimedOut));
    assert_eq!(queue.submit(timeless(1)), Ok(1));
    assert_eq!(calls(queue.committer()), [[1]]);
}

#[test]
fn greatest_time_limit_does_not_overflow() {
    let now = Instant::now();
    assert!(group_commit::deadline_after(now, Duration::MAX) > now);
}
