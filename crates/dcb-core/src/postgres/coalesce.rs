//! Requests that wait for a resource, such as a connection. Identical ones are joined, and one run
//! answers several of them. No I/O.
//!
//! Invariants:
//!
//! - A run takes requests only once it has the resource, so an answer is newer than the call of each
//!   request that gets it.
//! - The caller of [`Waiting::join`] spawns the run as a task, so the run goes on even if none of
//!   its callers is polled.
//! - The runs that have not begun have room for all waiting requests. A run that ends without the
//!   resource takes requests too, and ends the wait of their callers.
//! - No caller waits for a run that has ended. If a run has no answer to a request, each of the
//!   request's callers learns so at once.
//!
//! Tested below and by `short_reads.rs`.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Requests that no run has taken yet.
pub(super) struct Waiting<K: Eq + Hash, A> {
    /// The maximum number of requests per run.
    max_batch: usize,
    state: Mutex<State<K, A>>,
}

struct State<K, A> {
    /// In order of arrival.
    requests: VecDeque<Arc<K>>,
    /// The callers of each of the requests.
    callers: HashMap<Arc<K>, Callers<A>>,
    /// The number of runs that have not begun.
    runs: usize,
}

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
    /// Runs take at most this many distinct requests each.
    pub(super) fn new(max_batch: usize) -> Arc<Self> {
        let state = State {
            requests: VecDeque::new(),
            callers: HashMap::new(),
            runs: 0,
        };
        Arc::new(Self {
            max_batch,
            state: Mutex::new(state),
        })
    }

    /// Lets the request wait, together with an identical one if there is one. Also returns a run, to
    /// be spawned, if the request needs one: the runs that have not begun have no room for it, or
    /// are fewer than `min_runs`.
    pub(super) fn join(
        self: &Arc<Self>,
        request: K,
        min_runs: usize,
    ) -> (Answer<A>, Option<Run<K, A>>) {
        let (caller, answer) = oneshot::channel();
        let request = Arc::new(request);
        let mut guard = self.lock();
        let state = &mut *guard;
        let callers = state.callers.entry(Arc::clone(&request)).or_default();
        callers.push(caller);
        if callers.len() > 1 {
            return (Answer(answer), None);
        }
        state.requests.push_back(request);
        let room = state.runs * self.max_batch;
        let needs_run = state.requests.len() > room || state.runs < min_runs;
        let run = needs_run.then(|| {
            state.runs += 1;
            Run {
                waiting: Arc::clone(self),
                has_begun: false,
            }
        });
        (Answer(answer), run)
    }

    fn lock(&self) -> MutexGuard<'_, State<K, A>> {
        // No code under the lock can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers waiting requests. Dropping a run that has not begun ends the wait of the callers that it
/// would have answered.
pub(super) struct Run<K: Eq + Hash, A> {
    waiting: Arc<Waiting<K, A>>,
    has_begun: bool,
}

impl<K: Eq + Hash, A> Run<K, A> {
    /// Takes waiting requests, and gives the answers of `work` to their callers. Acquire the
    /// resource first. `work` is not called if no caller waits. It returns an answer for each
    /// request, in the same order; where one is missing, the wait ends without an answer.
    pub(super) async fn answer<F>(mut self, work: impl FnOnce(Vec<Arc<K>>) -> F)
    where
        F: Future<Output = Vec<Option<A>>>,
    {
        let (requests, callers): (Vec<_>, Vec<_>) = self.take().into_iter().unzip();
        if requests.is_empty() {
            return;
        }
        for (callers, answer) in callers.into_iter().zip(work(requests).await) {
            if let Some(answer) = answer {
                send(callers, answer);
            }
        }
    }

    /// Whether a caller waits for a run to begin.
    pub(super) fn is_awaited(&self) -> bool {
        let state = self.waiting.lock();
        state
            .callers
            .values()
            .flatten()
            .any(|caller| !caller.is_closed())
    }

    /// Removes the requests of this run from those that wait. Skips a request if all of its callers
    /// have left.
    fn take(&mut self) -> Vec<(Arc<K>, Callers<A>)> {
        let mut taken = Vec::new();
        if std::mem::replace(&mut self.has_begun, true) {
            return taken;
        }
        let mut state = self.waiting.lock();
        state.runs -= 1;
        while taken.len() < self.waiting.max_batch
            && let Some(request) = state.requests.pop_front()
        {
            let mut callers = state.callers.remove(&request).unwrap_or_default();
            callers.retain(|caller| !caller.is_closed());
            if !callers.is_empty() {
                taken.push((request, callers));
            }
        }
        taken
    }
}

fn send<A>(mut callers: Callers<A>, answer: A) {
    let answer = Arc::new(answer);
    let last = callers.pop();
    for caller in callers {
        // Sending fails only if the caller has left.
        let _ = caller.send(Arc::clone(&answer));
    }
    let _ = last.map(|caller| caller.send(answer));
}

impl<K: Eq + Hash, A> Drop for Run<K, A> {
    fn drop(&mut self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

    use super::*;

    type TestRuns = Waiting<&'static str, String>;
    type TestRun = Run<&'static str, String>;

    /// Joins with each request. Returns the answers, and the runs to be spawned.
    fn join<const N: usize>(
        waiting: &Arc<TestRuns>,
        requests: [&'static str; N],
    ) -> (Vec<Answer<String>>, Vec<TestRun>) {
        let (answers, runs): (_, Vec<_>) = requests
            .map(|request| waiting.join(request, 0))
            .into_iter()
            .unzip();
        (answers, runs.into_iter().flatten().collect())
    }

    /// Answers each request of the run with its name and this number. Returns the requests.
    fn answer(run: TestRun, number: usize) -> Vec<&'static str> {
        let mut taken = Vec::new();
        let work = async |requests: Vec<Arc<&'static str>>| {
            taken = requests.iter().map(|request| **request).collect();
            taken
                .iter()
                .map(|name| Some(format!("{name}{number}")))
                .collect()
        };
        run.answer(work).now_or_never().expect("the work is ready");
        taken
    }

    /// The answers that have arrived; panics if a caller still waits.
    fn arrived(answers: Vec<Answer<String>>) -> Vec<Option<String>> {
        let answers = join_all(answers.into_iter().map(Answer::wait));
        answers.now_or_never().expect("no caller waits")
    }

    fn some<const N: usize>(answers: [&str; N]) -> Vec<Option<String>> {
        answers.map(|answer| Some(answer.to_owned())).into()
    }

    #[test]
    fn identical_requests_share_a_run() {
        let waiting = TestRuns::new(1);
        let (answers, runs) = join(&waiting, ["a", "b", "a", "a"]);
        assert_eq!(runs.len(), 2);
        for (number, run) in runs.into_iter().enumerate() {
            answer(run, number);
        }
        assert_eq!(arrived(answers), some(["a0", "b1", "a0", "a0"]));
    }

    #[test]
    fn run_takes_a_batch_of_unlike_requests_in_order_of_arrival() {
        let waiting = TestRuns::new(3);
        let (answers, runs) = join(&waiting, ["a", "b", "a", "c", "d", "e", "f", "g", "d"]);
        let taken: Vec<_> = (0..).zip(runs).map(|(n, run)| answer(run, n)).collect();
        assert_eq!(taken, [vec!["a", "b", "c"], vec!["d", "e", "f"], vec!["g"]]);
        let expected = ["a0", "b0", "a0", "c0", "d1", "e1", "f1", "g2", "d1"];
        assert_eq!(arrived(answers), some(expected));
    }

    #[test]
    fn run_that_waits_has_room_for_later_requests() {
        let waiting = TestRuns::new(2);
        let (mut answers, mut runs) = join(&waiting, ["a"]);
        for (later, needed) in [("b", 0), ("c", 1), ("d", 0)] {
            let (answer, run) = join(&waiting, [later]);
            assert_eq!(run.len(), needed, "{later}");
            answers.extend(answer);
            runs.extend(run);
        }
        assert_eq!(answer(runs.remove(0), 1), ["a", "b"]);
        assert_eq!(answer(runs.remove(0), 2), ["c", "d"]);
        assert_eq!(arrived(answers), some(["a1", "b1", "c2", "d2"]));
    }

    #[test]
    fn more_runs_wait_on_demand_and_end_without_work() {
        let waiting = TestRuns::new(9);
        let (answers, runs): (Vec<_>, Vec<_>) = ["a", "b", "b", "c"]
            .map(|request| waiting.join(request, 2))
            .into_iter()
            .unzip();
        let mut runs: Vec<_> = runs.into_iter().flatten().collect();
        assert_eq!(runs.len(), 2);
        assert_eq!(answer(runs.remove(1), 1), ["a", "b", "c"]);
        assert!(answer(runs.remove(0), 2).is_empty());
        assert_eq!(arrived(answers), some(["a1", "b1", "b1", "c1"]));
    }

    #[test]
    fn request_that_arrives_after_the_run_began_gets_another_run() {
        let waiting = TestRuns::new(9);
        let (answers, mut runs) = join(&waiting, ["a"]);
        let mut later = None;
        let work = async |_| {
            later = Some(join(&waiting, ["a", "a", "b"]));
            vec![Some("a1".to_owned())]
        };
        runs.remove(0).answer(work).now_or_never().unwrap();
        assert_eq!(arrived(answers), some(["a1"]));
        // The end of the first run does not end the second.
        let (answers, mut runs) = later.unwrap();
        assert_eq!(runs.len(), 1);
        answer(runs.remove(0), 2);
        assert_eq!(arrived(answers), some(["a2", "a2", "b2"]));
    }

    #[test]
    fn run_without_answer_ends_the_wait() {
        let waiting = TestRuns::new(1);
        let (answers, mut runs) = join(&waiting, ["failed", "dropped", "failed"]);
        let work = async |_| vec![None];
        runs.remove(0).answer(work).now_or_never().unwrap();
        drop(runs);
        assert_eq!(arrived(answers), [None, None, None]);
        let (_answers, runs) = join(&waiting, ["dropped", "failed"]);
        assert_eq!(runs.len(), 2, "an ended run can't be joined");
    }

    #[test]
    fn run_with_too_few_answers_ends_the_wait_of_the_others() {
        let waiting = TestRuns::new(3);
        let (answers, mut runs) = join(&waiting, ["a", "b", "c"]);
        let work = async |_| vec![None, Some("b".to_owned())];
        runs.remove(0).answer(work).now_or_never().unwrap();
        assert_eq!(arrived(answers), [None, Some("b".to_owned()), None]);
    }

    #[test]
    fn work_begins_only_if_a_caller_waits() {
        let waiting = TestRuns::new(1);
        let (mut answers, runs) = join(&waiting, ["a", "b", "a", "b"]);
        drop(answers.drain(..3));
        assert!(runs[0].is_awaited());
        let taken: Vec<_> = runs.into_iter().map(|run| answer(run, 1)).collect();
        assert_eq!(arrived(answers), some(["b1"]));
        assert_eq!(taken, [vec!["b"], vec![]]);
    }

    #[test]
    fn request_without_callers_takes_no_place_in_a_batch() {
        let waiting = TestRuns::new(2);
        let (mut answers, mut runs) = join(&waiting, ["a", "b", "c"]);
        answers.remove(0);
        assert_eq!(answer(runs.remove(0), 1), ["b", "c"]);
        assert!(!runs[0].is_awaited());
        assert!(answer(runs.remove(0), 2).is_empty());
        assert_eq!(arrived(answers), some(["b1", "c1"]));
    }
}
