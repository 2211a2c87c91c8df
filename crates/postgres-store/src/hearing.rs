use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use sqlx::Error;
use store_fault::Listener;

use crate::limiter::Limiter;

/// Whether a listener hears. The task that listens reports each session, and the store asks.
/// Logs a session that is lost or replaced. Cheap to clone; clones share the state.
#[derive(Clone, Debug)]
pub(crate) struct Hearing {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    channel: String,
    /// The number of tasks so far.
    tasks: AtomicU64,
    /// `None` while nothing listens.
    state: Mutex<Option<State>>,
    limiter: Limiter,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    lost_since: Option<SystemTime>,
    sessions: u64,
    /// When the loss was logged. Clocks of the system jump, so this one is monotonic.
    told: Option<Instant>,
    /// Since when the queue of notifications has been too full for the stores' own.
    congested: Option<Instant>,
}

impl Hearing {
    /// Nothing listens on this channel yet.
    pub(crate) fn new(channel: &str) -> Self {
        Self {
            shared: Arc::new(Shared {
                channel: channel.to_owned(),
                tasks: AtomicU64::new(0),
                state: Mutex::default(),
                limiter: Limiter::default(),
            }),
        }
    }

    /// The task that listens has started. It hears nothing yet. Returns its number.
    pub(crate) fn starts(&self) -> u64 {
        let mut state = self.shared.state.lock();
        let before = state.unwrap_or_default();
        *state = Some(State {
            lost_since: Some(SystemTime::now()),
            ..before
        });
        self.shared.tasks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A session listens.
    pub(crate) fn hears(&self) {
        let told = self.change(|state| {
            state.lost_since = None;
            state.sessions += 1;
            state.told.take()
        });
        if let Some(told) = told.flatten() {
            let channel = &self.shared.channel;
            tracing::info!(channel, after = ?told.elapsed(), "the listener was replaced");
        }
    }

    /// The session was lost, or none could be opened.
    pub(crate) fn lost(&self, cause: &Error) {
        let Shared {
            channel, limiter, ..
        } = &*self.shared;
        let admitted = self.change(|state| {
            state.lost_since.get_or_insert_with(SystemTime::now);
            if state.told.is_some() {
                return None;
            }
            let admitted = limiter.admit()?;
            state.told = Some(Instant::now());
            Some(admitted)
        });
        if let Some(suppressed) = admitted.flatten() {
            tracing::warn!(
                channel,
                %cause,
                suppressed,
                "the listener is lost: writes of other processes arrive with the next poll"
            );
        }
    }

    /// The server's queue of notifications is used to this part. From a half on, the stores write
    /// without notifications.
    pub(crate) fn queue_is_used(&self, usage: f64) {
        const TOO_MUCH: f64 = 0.5;
        let is_congested = usage >= TOO_MUCH;
        let before = self.change(|state| {
            let before = state.congested;
            state.congested = is_congested.then(|| before.unwrap_or_else(Instant::now));
            before
        });
        let channel = &self.shared.channel;
        match before.flatten() {
            None if is_congested => tracing::warn!(
                channel,
                usage,
                "the server's queue of notifications is half full: writes go on without, and other \
                 processes find them with the next poll"
            ),
            Some(since) if !is_congested => {
                tracing::info!(channel, after = ?since.elapsed(), "writes are notified again");
            }
            _ => {}
        }
    }

    /// The task with this number has ended, with its runtime or because it was stopped.
    pub(crate) fn ends(&self, task: u64) {
        self.change(|state| {
            if self.shared.tasks.load(Ordering::Relaxed) == task {
                state.lost_since.get_or_insert_with(SystemTime::now);
            }
        });
    }

    /// Nothing listens any more.
    pub(crate) fn stops(&self) {
        *self.shared.state.lock() = None;
    }

    /// `None` while nothing listens.
    pub(crate) fn report(&self) -> Option<Listener> {
        let state = (*self.shared.state.lock())?;
        let replacements = state.sessions.saturating_sub(1);
        Some(Listener::new(state.lost_since, replacements))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> Option<T> {
        self.shared.state.lock().as_mut().map(change)
    }
}
