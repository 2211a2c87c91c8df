//! What the last attempts to open a connection have shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::connect_error::ConnectError;

/// How long after a failed attempt [`Attempts::begin_probe`] allows the next one.
const PROBE_EVERY: Duration = Duration::from_millis(500);

/// The attempts to open a connection to the hosts of a URL, by every session of a store.
#[derive(Default)]
pub(super) struct Attempts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Since when attempts run and none has ended.
    silent_since: Option<Instant>,
    /// The last silence whose callers all gave up: when it began and when it ended.
    given_up: Option<(Instant, Instant)>,
    /// The failure of the last attempt that ended, if it failed.
    failed: Option<(Instant, ConnectError)>,
}

impl Attempts {
    pub(super) fn begin(self: &Arc<Self>) -> Attempt {
        self.state.lock().begin();
        Attempt {
            attempts: Arc::clone(self),
        }
    }

    /// Begins an attempt that finds out whether an outage is over. `None` while another attempt runs,
    /// and right after one.
    pub(super) fn begin_probe(self: &Arc<Self>) -> Option<Attempt> {
        let mut state = self.state.lock();
        let (ended, _) = state.failed.as_ref()?;
        if state.running > 0 || ended.elapsed() < PROBE_EVERY {
            return None;
        }
        state.begin();
        Some(Attempt {
            attempts: Arc::clone(self),
        })
    }

    /// The failure of the last attempt, if it failed for a reason that may pass.
    pub(super) fn outage(&self) -> Option<ConnectError> {
        let state = self.state.lock();
        let (_, failed) = state.failed.as_ref()?;
        failed.may_pass().then(|| failed.clone())
    }

    /// The failure of the last attempt, if it ended after `begun`.
    pub(super) fn failed_since(&self, begun: Instant) -> Option<ConnectError> {
        let state = self.state.lock();
        let (ended, failed) = state.failed.as_ref()?;
        (*ended >= begun).then(|| failed.clone())
    }

    /// How long attempts have been running, or ran after `begun`, of which none has ended.
    pub(super) fn silence(&self, begun: Instant) -> Option<Duration> {
        let state = self.state.lock();
        let given_up = state.given_up.filter(|(_, ended)| *ended >= begun);
        let given_up = given_up.map(|(since, ended)| ended - since);
        let running = state.silent_since.map(|since| since.elapsed());
        running.max(given_up)
    }
}

impl State {
    fn begin(&mut self) {
        self.running += 1;
        self.silent_since.get_or_insert_with(Instant::now);
    }
}

/// A running attempt. Dropping it means that its caller gave it up.
pub(super) struct Attempt {
    attempts: Arc<Attempts>,
}

impl Attempt {
    pub(super) fn end(self, failed: Option<ConnectError>) {
        let now = Instant::now();
        let mut state = self.attempts.state.lock();
        state.failed = failed.map(|failed| (now, failed));
        state.silent_since = Some(now);
        state.given_up = None;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = self.attempts.state.lock();
        state.running -= 1;
        if state.running == 0 {
            let since = state.silent_since.take();
            state.given_up = since.map(|since| (since, Instant::now()));
        }
    }
}
