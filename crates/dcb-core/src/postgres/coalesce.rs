//! Joins identical requests that wait for a resource, such as a connection: one run answers all of
//! them. No I/O.
//!
//! Invariants:
//!
//! - A request joins only until the resource is acquired, so the answer is newer than the call of
//!   each request that gets it.
//! - The caller of [`Waiting::join`] spawns the run as a task, so the run goes on even if none of
//!   its callers is polled.
//! - No caller waits for a run that has ended. If a run ends without an answer, each of its callers
//!   learns so at once.
//!
//! Tested below and by `short_reads.rs`.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// The runs that have not begun, by request: each with the callers that wait for its answer.
pub(super) struct Waiting<K: Eq + Hash, A>(Mutex<HashMap<Arc<K>, Callers<A>>>);

/// Shares the answer, so that each caller makes its copy in its own task, and the last one needs
/// none.
type Callers<A> = Vec<oneshot::Sender<Arc<A>>>;

/// The answer to a caller; [`Answer::wait`] waits for it.
pub(super) struct Answer<A>(oneshot::Receiver<Arc<A>>);

impl<A: Clone> Answer<A> {
    /// `None` if the run ended without an answer.
    pub(super) async fn wait(self) -> Option<A> {
        self.0.await.ok().map(Arc::unwrap_or_clone)
    }
}

impl<K: Eq + Hash, A> Waiting<K, A> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Joins the run of this request. If none waits, also returns a new run, to be spawned.
    pub(super) fn join(self: &Arc<Self>, request: &Arc<K>) -> (Answer<A>, Option<Run<K, A>>) {
        let (caller, answer) = oneshot::channel();
        let mut is_first = false;
        self.with_runs(|runs| {
            let callers = runs.entry(Arc::clone(request)).or_insert_with(|| {
                is_first = true;
                Vec::new()
            });
            callers.push(caller);
        });
        let run = is_first.then(|| Run {
            waiting: Arc::clone(self),
            request: Some(Arc::clone(request)),
        });
        (Answer(answer), run)
    }

    fn with_runs<T>(&self, work: impl FnOnce(&mut HashMap<Arc<K>, Callers<A>>) -> T) -> T {
        // No code under the lock can panic half-way through a change.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The one run of a request for all of its callers. Dropping it ends their wait.
pub(super) struct Run<K: Eq + Hash, A> {
    waiting: Arc<Waiting<K, A>>,
    /// `None` once no more callers can join.
    request: Option<Arc<K>>,
}

impl<K: Eq + Hash, A> Run<K, A> {
    /// Does the work, unless every caller has left, and gives its answer to the callers. No caller
    /// joins from now on, so acquire the resource first.
    pub(super) async fn answer(mut self, work: impl Future<Output = Option<A>>) {
        let mut callers = self.close();
        callers.retain(|caller| !caller.is_closed());
        if callers.is_empty() {
            return;
        }
        if let Some(answer) = work.await.map(Arc::new) {
            let last = callers.pop();
            for caller in callers {
                // Sending fails only if the caller has left.
                let _ = caller.send(Arc::clone(&answer));
            }
            let _ = last.map(|caller| caller.send(answer));
        }
    }

    fn close(&mut self) -> Callers<A> {
        let request = self.request.take();
        request
            .and_then(|request| self.waiting.with_runs(|runs| runs.remove(&request)))
            .unwrap_or_default()
    }
}

impl<K: Eq + Hash, A> Drop for Run<K, A> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

    use super::*;

    type TestRuns = Waiting<&'static str, usize>;

    /// Joins with each request. Returns the answers, and the runs to be spawned.
    fn join<const N: usize>(
        waiting: &Arc<TestRuns>,
        requests: [&'static str; N],
    ) -> (Vec<Answer<usize>>, Vec<Run<&'static str, usize>>) {
        let (answers, runs): (_, Vec<_>) = requests
            .map(|request| waiting.join(&Arc::new(request)))
            .into_iter()
            .unzip();
        (answers, runs.into_iter().flatten().collect())
    }

    /// The answers that have arrived; panics if a caller still waits.
    fn arrived(answers: Vec<Answer<usize>>) -> Vec<Option<usize>> {
        let answers = join_all(answers.into_iter().map(Answer::wait));
        answers.now_or_never().expect("no caller waits")
    }

    #[test]
    fn identical_requests_share_a_run() {
        let waiting = TestRuns::new();
        let (answers, runs) = join(&waiting, ["a", "b", "a", "a"]);
        assert_eq!(runs.len(), 2);
        for (number, run) in runs.into_iter().enumerate() {
            run.answer(async { Some(number) }).now_or_never().unwrap();
        }
        assert_eq!(arrived(answers), [0, 1, 0, 0].map(Some));
    }

    #[test]
    fn request_that_arrives_after_the_run_began_gets_another_run() {
        let waiting = TestRuns::new();
        let (answers, mut runs) = join(&waiting, ["a"]);
        let mut later = None;
        let work = async {
            later = Some(join(&waiting, ["a", "a"]));
            Some(1)
        };
        runs.remove(0).answer(work).now_or_never().unwrap();
        assert_eq!(arrived(answers), [Some(1)]);
        // The end of the first run does not end the second.
        let (answers, mut runs) = later.unwrap();
        assert_eq!(runs.len(), 1);
        runs.remove(0)
            .answer(async { Some(2) })
            .now_or_never()
            .unwrap();
        assert_eq!(arrived(answers), [Some(2), Some(2)]);
    }

    #[test]
    fn run_without_answer_ends_the_wait() {
        let waiting = TestRuns::new();
        let (answers, mut runs) = join(&waiting, ["dropped", "failed", "dropped"]);
        runs.remove(1)
            .answer(async { None })
            .now_or_never()
            .unwrap();
        drop(runs);
        assert_eq!(arrived(answers), [None; 3]);
        let (_answers, runs) = join(&waiting, ["dropped", "failed"]);
        assert_eq!(runs.len(), 2, "an ended run can't be joined");
    }

    #[test]
    fn work_begins_only_if_a_caller_waits() {
        let waiting = TestRuns::new();
        let (mut answers, runs) = join(&waiting, ["a", "b", "a", "b"]);
        drop(answers.drain(..3));
        let mut begun = 0;
        for run in runs {
            let work = async {
                begun += 1;
                Some(begun)
            };
            run.answer(work).now_or_never().unwrap();
        }
        assert_eq!(arrived(answers), [Some(1)]);
        assert_eq!(begun, 1);
    }
}
