//! A committer whose commits wait until the test lets them through.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use group_commit::{Commit, CommitError, Limits, Outcome, Queue};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// A request. Some ids, such as [`POISON`], make the commit fail. `bytes` is the size that the queue
/// counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) id: u32,
    pub(crate) bytes: usize,
}

pub(crate) const POISON: u32 = 1_000;
pub(crate) const FATAL: u32 = 1_001;
pub(crate) const VAGUE: u32 = 1_002;
pub(crate) const BOMB: u32 = 1_003;
pub(crate) const MISCOUNT: u32 = 1_004;

pub(crate) fn job(id: u32) -> Job {
    Job { id, bytes: 1 }
}

/// The committer. A request's verdict is its position in the log, from 1.
pub(crate) struct Gate {
    commits: Semaphore,
    started: Mutex<Vec<Vec<u32>>>,
    written: Mutex<Vec<u32>>,
}

impl Gate {
    pub(crate) fn open() -> Self {
        let gate = Self::closed();
        gate.let_through(Semaphore::MAX_PERMITS / 2);
        gate
    }

    pub(crate) fn closed() -> Self {
        Self {
            commits: Semaphore::new(0),
            started: Mutex::default(),
            written: Mutex::default(),
        }
    }

    pub(crate) fn let_through(&self, commits: usize) {
        self.commits.add_permits(commits);
    }

    /// The batch of every commit that has started.
    pub(crate) fn started(&self) -> Vec<Vec<u32>> {
        self.started.lock().unwrap().clone()
    }

    pub(crate) fn written(&self) -> Vec<u32> {
        self.written.lock().unwrap().clone()
    }
}

impl Commit for Gate {
    type Request = Job;
    type Verdict = usize;
    type Error = &'static str;

    fn size_bytes(&self, job: &Job) -> usize {
        job.bytes
    }

    async fn commit(&self, batch: &mut [Job]) -> Result<Vec<usize>, CommitError<&'static str>> {
        let ids: Vec<_> = batch.iter().map(|job| job.id).collect();
        self.started.lock().unwrap().push(ids.clone());
        self.commits.acquire().await.unwrap().forget();
        if ids.contains(&BOMB) {
            std::panic::resume_unwind(Box::new("bomb"));
        } else if ids.contains(&POISON) {
            Err(CommitError::Refused("poison"))
        } else if ids.contains(&FATAL) {
            Err(CommitError::Failed("disk full"))
        } else if ids.contains(&VAGUE) {
            Err(CommitError::Unknown("connection lost"))
        } else if ids.contains(&MISCOUNT) {
            Ok(Vec::new())
        } else {
            let mut written = self.written.lock().unwrap();
            let first = written.len() + 1;
            written.extend(ids);
            Ok((first..=written.len()).collect())
        }
    }
}

pub(crate) fn closed_queue(limits: Limits) -> Arc<Queue<Gate>> {
    Arc::new(Queue::new(Gate::closed(), limits))
}

pub(crate) type Caller = JoinHandle<Outcome<Gate>>;

/// Submits in a new task. Returns as soon as the request is queued or in flight.
pub(crate) async fn arrive(queue: &Arc<Queue<Gate>>, job: Job) -> Caller {
    let before = arrivals(queue);
    let caller = tokio::spawn({
        let queue = Arc::clone(queue);
        async move { queue.submit(job).await }
    });
    until(|| arrivals(queue) > before).await;
    // The first request leads: wait for its commit, so that later requests queue behind it.
    until(|| !queue.committer().started().is_empty()).await;
    caller
}

/// A queue with one request in flight behind the closed gate, and `ids` queued behind it.
pub(crate) async fn arrive_behind(queue: &Arc<Queue<Gate>>, ids: &[u32]) -> (Caller, Vec<Caller>) {
    let leader = arrive(queue, job(0)).await;
    let mut waiting = Vec::new();
    for id in ids {
        waiting.push(arrive(queue, job(*id)).await);
    }
    (leader, waiting)
}

fn arrivals(queue: &Queue<Gate>) -> u64 {
    let stats = queue.stats();
    stats.requests + stats.withdrawn + (stats.queued + stats.waiting_for_room) as u64
}

/// Returns when `condition` holds. If it never holds, the test hangs.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_micros(50)).await;
    }
}
