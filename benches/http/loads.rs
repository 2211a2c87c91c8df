//! Parts that the targets of the demo server share: the duration of loads, and checks of answers.

use bench::load::{Answer, Exchange, Load, Schedule, Service};
use bench::{BoxError, Outcome, Profile, Target};
use bytes::Bytes;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The durations and the rate of loads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// A ramp of users.
    pub(crate) ramp: Duration,
    /// A ramp of users that call the library instead of the server.
    pub(crate) library_ramp: Duration,
    /// A closed or an open schedule.
    pub(crate) steady: Duration,
    /// The warm-up of a closed schedule.
    pub(crate) warm_up: Duration,
    /// The share of the rate at which the calls of an open schedule fall due.
    pub(crate) rate: f64,
}

impl Times {
    pub(crate) fn for_profile(profile: &Profile) -> Self {
        let seconds = Duration::from_secs_f64;
        let [ramp, library_ramp, steady, warm_up] = if profile.is_smoke() {
            [1.0, 0.2, 0.2, 0.05]
        } else if profile.is_full() {
            [260.0, 26.0, 10.0, 2.0]
        } else {
            [10.0, 2.0, 1.2, 0.25]
        };
        Self {
            ramp: seconds(ramp),
            library_ramp: seconds(library_ramp),
            steady: seconds(steady),
            warm_up: seconds(warm_up),
            // A smoke run fails if a call fails, and a busy machine can't hold the whole rate.
            rate: if profile.is_smoke() { 0.1 } else { 1.0 },
        }
    }

    /// `callers` callers. Each makes its next call when the last one is answered.
    pub(crate) fn closed(self, callers: usize) -> Schedule {
        Schedule::Closed {
            callers,
            warm_up: self.warm_up,
            time: self.steady,
        }
    }

    /// Calls that fall due at this rate, or at a part of it in a smoke run.
    pub(crate) fn open(self, per_second: f64, callers: usize) -> Schedule {
        Schedule::Open {
            per_second: per_second * self.rate,
            callers,
            time: self.steady,
        }
    }
}

/// A load. Its set-up gets a clone of `given`.
pub(crate) fn load<T, S, F, Fut>(schedule: Schedule, given: &T, setup: F) -> Load
where
    T: Clone + Send + Sync + 'static,
    S: Service,
    F: Fn(T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S, BoxError>> + Send + 'static,
{
    let given = given.clone();
    Load::new(schedule, move || setup(given.clone()))
}

/// Checks that all answers to a request are identical, because the data behind it does not change.
#[derive(Clone)]
pub(crate) struct SameAnswer {
    /// Accepts or rejects the first answer.
    expected: fn(&Value) -> bool,
    first: Arc<OnceLock<Bytes>>,
}

impl SameAnswer {
    pub(crate) fn new(expected: fn(&Value) -> bool) -> Self {
        Self {
            expected,
            first: Arc::default(),
        }
    }

    pub(crate) fn judge(&self, exchange: Exchange) -> Exchange {
        let same = self.clone();
        exchange.judge(move |answer| same.is_seen(answer))
    }

    fn is_seen(&self, answer: &Answer) -> Result<Outcome, BoxError> {
        if let Some(first) = self.first.get() {
            return match *first == answer.body {
                true => Ok(Outcome::Success),
                false => Err("two answers to one request differ".into()),
            };
        }
        // Only the first answer is parsed: parsing all would take the cores from the server.
        let body: Value = serde_json::from_slice(&answer.body)?;
        if !(self.expected)(&body) {
            return Err(format!("unexpected answer: {body}").into());
        }
        // If two callers race here, the loser's answer is not compared. Later answers are.
        let _ = self.first.set(answer.body.clone());
        Ok(Outcome::Success)
    }
}

/// Describes the server in the facts of the page.
pub(crate) fn set_facts(target: &Target) {
    let facts = target.facts();
    facts.set(
        "Demo server",
        "a separate process in test mode with one thread per core; HTTP/1.1 over loopback TCP, one \
         connection per caller",
    );
}
