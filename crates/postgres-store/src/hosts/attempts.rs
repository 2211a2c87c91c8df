//! The last attempts to open a connection, and their results.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Hosts;
use super::outage_log::OutageLog;
use crate::connect_error::ConnectError;

/// How long after a failed attempt [`Attempt::probe`] begins the next one.
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// An attempt that its caller gives up after this time counts as an outage in the log.
const SILENT: Duration = Duration::from_millis(900);

/// The attempts to open a connection to the hosts of a URL, by every session of a store.
#[derive(Default)]
pub(super) struct Attempts {
    state: Mutex<State>,
    log: OutageLog,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Whether one of them is a [probe](Attempt::probe).
    is_probing: bool,
    /// Since when attempts run and none has ended.
    silent_since: Option<Instant>,
    /// The last silence whose callers all gave up: when it began and when it ended.
    given_up: Option<(Instant, Instant)>,
    /// The failure of the last attempt that ended, if it failed.
    failed: Option<(Instant, ConnectError)>,
}

impl Attempts {
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

    /// How long the hosts have been silent: the time for which some attempt has always been running.
    /// Attempts that were given up count if the last of them ended after `begun`.
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

    fn end(&mut self, is_probe: bool) {
        self.is_probing &= !is_probe;
        self.running -= 1;
        if self.running == 0 {
            let since = self.silent_since.take();
            self.given_up = since.map(|since| (since, Instant::now()));
        }
    }
}

/// A running attempt. Dropping it means that its caller gave it up.
pub(super) struct Attempt {
    hosts: Hosts,
    begun: Instant,
    is_probe: bool,
    has_ended: bool,
}

impl Attempt {
    pub(super) fn begin(hosts: &Hosts) -> Self {
        hosts.attempts.state.lock().begin();
        Self::of(hosts, false)
    }

    /// Begins an attempt that finds out whether an outage is over. `None` while another probe runs,
    /// and right after an attempt. A task must run it: an attempt whose caller is not polled can't
    /// find out anything, so other attempts don't count.
    pub(super) fn probe(hosts: &Hosts) -> Option<Self> {
        let mut state = hosts.attempts.state.lock();
        let (ended, _) = state.failed.as_ref()?;
        if state.is_probing || ended.elapsed() < PROBE_EVERY {
            return None;
        }
        state.is_probing = true;
        state.begin();
        Some(Self::of(hosts, true))
    }

    fn of(hosts: &Hosts, is_probe: bool) -> Self {
        Self {
            hosts: hosts.clone(),
            begun: Instant::now(),
            is_probe,
            has_ended: false,
        }
    }

    /// Notes the result of the attempt.
    pub(super) fn end(mut self, failed: Option<&ConnectError>) {
        self.has_ended = true;
        let now = Instant::now();
        let attempts = &self.hosts.attempts;
        let mut state = attempts.state.lock();
        state.failed = failed.map(|failed| (now, failed.clone()));
        state.silent_since = Some(now);
        state.given_up = None;
        drop(state);
        let server = self.hosts.likely_one();
        match failed {
            None => attempts.log.reached(server),
            Some(cause) => attempts.log.lost(server, self.begun, cause),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let attempts = &self.hosts.attempts;
        attempts.state.lock().end(self.is_probe);
        let waited = self.begun.elapsed();
        if !self.has_ended && waited >= SILENT {
            let silent = self.hosts.silent(waited);
            attempts
                .log
                .lost(self.hosts.likely_one(), self.begun, &silent);
        }
    }
}
