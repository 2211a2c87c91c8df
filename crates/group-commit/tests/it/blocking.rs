//! The blocking queue through its public API.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{JoinHandle, ThreadId, current, sleep, spawn, yield_now};
use std::time::{Duration, Instant};

use group_commit::{BlockingQueue, CommitBlocking, CommitError, Limits, SubmitError};

const POISON: u32 = 1_000;
const BOMB: u32 = 1_001;

/// A log whose commits wait until the test lets them through.
#[derive(Default)]
struct Gate {
    commits: Mutex<usize>,
    opened: Condvar,
    started: Mutex<Vec<(ThreadId, Vec<u32>)>>,
    written: Mutex<Vec<u32>>,
}

impl Gate {
    fn let_through(&self, commits: usize) {
        *self.commits.lock().unwrap() += commits;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let commits = self.commits.lock().unwrap();
        *self
            .opened
            .wait_while(commits, |commits| *commits == 0)
            .unwrap() -= 1;
    }

    fn batches(&self) -> Vec<Vec<u32>> {
        self.started
            .lock()
            .unwrap()
            .iter()
            .map(|(_, ids)| ids.clone())
            .collect()
    }
}

impl CommitBlocking for Gate {
    type Request = u32;
    type Verdict = (usize, ThreadId);
    type Error = &'static str;

    fn size_bytes(&self, _: &u32) -> usize {
        1
    }

    fn commit(
        &self,
        batch: &mut [u32],
    ) -> Result<Vec<(usize, ThreadId)>, CommitError<&'static str>> {
        self.started
            .lock()
            .unwrap()
            .push((current().id(), batch.to_vec()));
        self.wait();
        if batch.contains(&BOMB) {
            std::panic::resume_unwind(Box::new("bomb"));
        }
        if batch.contains(&POISON) {
            return Err(CommitError::Refused("poison"));
        }
        let mut written = self.written.lock().unwrap();
        let first = written.len() + 1;
        written.extend_from_slice(batch);
        Ok((first..=written.len())
            .map(|position| (position, current().id()))
            .collect())
    }
}

type Outcome = Result<usize, SubmitError<&'static str>>;

fn queue() -> Arc<BlockingQueue<Gate>> {
    Arc::new(BlockingQueue::new(Gate::default(), Limits::default()))
}

/// Submits on a new thread. Returns as soon as the request is queued or in flight.
fn arrive(queue: &Arc<BlockingQueue<Gate>>, id: u32) -> JoinHandle<Outcome> {
    let arrived = |queue: &BlockingQueue<Gate>| {
        let stats = queue.stats();
        stats.requests + stats.queued as u64
    };
    let before = arrived(queue);
    let caller = spawn({
        let queue = Arc::clone(queue);
        move || queue.submit(id).map(|(position, _)| position)
    });
    until(|| arrived(queue) > before && !queue.committer().batches().is_empty());
    caller
}

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        sleep(Duration::from_micros(50));
    }
}

#[test]
fn idle_queue_commits_on_the_callers_thread() {
    let queue = queue();
    queue.committer().let_through(2);
    assert_eq!(queue.submit(1), Ok((1, current().id())));
    assert_eq!(queue.try_submit(2), Ok((2, current().id())));
}

#[test]
fn waiting_callers_are_committed_by_one_of_them() {
    let queue = queue();
    let callers = [0, 1, 2, 3].map(|id| arrive(&queue, id));
    let threads = callers.each_ref().map(|caller| caller.thread().id());
    queue.committer().let_through(2);
    assert_eq!(
        callers.map(|caller| caller.join().unwrap()),
        [Ok(1), Ok(2), Ok(3), Ok(4)]
    );
    let started = queue.committer().started.lock().unwrap().clone();
    assert_eq!(
        started,
        [(threads[0], vec![0]), (threads[1], vec![1, 2, 3])]
    );
}

#[test]
fn errors_and_panics_reach_their_own_callers() {
    let queue = queue();
    let callers = [0, 1, POISON, 2].map(|id| arrive(&queue, id));
    queue.committer().let_through(100);
    let outcomes = callers.map(|caller| caller.join().unwrap());
    assert_eq!(
        outcomes,
        [Ok(1), Ok(2), Err(SubmitError::Refused("poison")), Ok(3)]
    );
    assert_eq!(queue.submit(BOMB), Err(SubmitError::Panicked));
    assert!(
        queue.submit(3).is_ok(),
        "the queue accepts the next request"
    );
}

#[test]
fn try_submit_to_a_full_queue_is_refused() {
    let limits = Limits {
        max_queued_requests: 1,
        ..Limits::default()
    };
    let queue = Arc::new(BlockingQueue::new(Gate::default(), limits));
    let callers = [0, 1].map(|id| arrive(&queue, id));
    assert_eq!(queue.try_submit(2), Err(SubmitError::Full));
    queue.committer().let_through(2);
    assert_eq!(callers.map(|caller| caller.join().unwrap()), [Ok(1), Ok(2)]);
}

#[test]
fn deadline_while_queued_withdraws_the_request() {
    let queue = queue();
    let leader = arrive(&queue, 0);
    let soon = Instant::now() + Duration::from_millis(5);
    assert_eq!(queue.submit_until(1, soon), Err(SubmitError::TimedOut));
    assert_eq!((queue.stats().withdrawn, queue.stats().queued), (1, 0));
    queue.committer().let_through(1);
    assert_eq!(leader.join().unwrap(), Ok(1));
    assert_eq!(queue.committer().batches(), [[0]]);
}

#[test]
fn submit_after_its_deadline_never_arrives() {
    let queue = queue();
    assert_eq!(
        queue.submit_until(0, Instant::now()),
        Err(SubmitError::TimedOut)
    );
    assert_eq!(queue.stats().batches, 0);
}

/// The second caller of a batch of two times out while the first commits for both.
#[test]
fn deadline_in_flight_returns_outcome_unknown_and_the_commit_goes_on() {
    let queue = queue();
    let [leader, second] = [0, 1].map(|id| arrive(&queue, id));
    let third = spawn({
        let queue = Arc::clone(&queue);
        move || queue.submit_until(2, Instant::now() + Duration::from_millis(200))
    });
    until(|| queue.stats().queued == 2);
    queue.committer().let_through(1);
    assert_eq!(leader.join().unwrap(), Ok(1));
    assert_eq!(third.join().unwrap(), Err(SubmitError::OutcomeUnknown));
    queue.committer().let_through(1);
    assert_eq!(second.join().unwrap(), Ok(2));
    assert_eq!(*queue.committer().written.lock().unwrap(), [0, 1, 2]);
}

#[test]
fn close_refuses_new_requests_and_waits_for_queued_ones() {
    let queue = queue();
    let callers = [0, 1].map(|id| arrive(&queue, id));
    let closing = spawn({
        let queue = Arc::clone(&queue);
        move || queue.close()
    });
    until(|| queue.is_closed());
    assert_eq!(queue.submit(2), Err(SubmitError::Closed));
    assert!(!closing.is_finished());
    queue.committer().let_through(2);
    closing.join().unwrap();
    assert_eq!(callers.map(|caller| caller.join().unwrap()), [Ok(1), Ok(2)]);
    queue.close();
}

#[test]
fn many_threads_are_each_committed_once() {
    let limits = Limits {
        max_batch_requests: 4,
        fill_yields: 2,
        ..Limits::default()
    };
    let queue = Arc::new(BlockingQueue::new(Gate::default(), limits));
    queue.committer().let_through(usize::MAX / 2);
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..16)
        .map(|number| {
            let (queue, acknowledged) = (Arc::clone(&queue), Arc::clone(&acknowledged));
            spawn(move || {
                for id in number * 50..(number + 1) * 50 {
                    let (position, _) = queue.submit(id).unwrap();
                    assert_eq!(queue.committer().written.lock().unwrap()[position - 1], id);
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    let mut written = queue.committer().written.lock().unwrap().clone();
    written.sort_unstable();
    assert_eq!(written, (0..800).collect::<Vec<_>>());
    assert_eq!(acknowledged.load(Ordering::Relaxed), 800);
}
