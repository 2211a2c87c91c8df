use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::Error;

/// The subscriptions of a store that wait for its database. Logs the first one that waits, and the
/// last one that reads again.
#[derive(Debug, Default)]
pub(super) struct Followers {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: usize,
    most: usize,
    since: Option<Instant>,
}

/// A subscription, which may wait.
#[derive(Debug)]
pub(super) struct Follower {
    all: Arc<Followers>,
    waits: bool,
}

impl Follower {
    pub(super) fn of(all: &Arc<Followers>) -> Self {
        Self {
            all: Arc::clone(all),
            waits: false,
        }
    }

    /// A read has failed, and will be repeated.
    pub(super) fn waits(&mut self, cause: &Error) {
        if std::mem::replace(&mut self.waits, true) {
            return;
        }
        let mut waiting = self.all.lock();
        waiting.count += 1;
        waiting.most = waiting.most.max(waiting.count);
        if waiting.since.is_none() {
            waiting.since = Some(Instant::now());
            drop(waiting);
            tracing::warn!(%cause, "subscriptions wait for the database");
        }
    }

    /// A read has succeeded.
    pub(super) fn reads(&mut self) {
        if let Some(waiting) = self.stop_waiting()
            && let Some(since) = waiting.since
        {
            let (after, subscriptions) = (since.elapsed(), waiting.most);
            tracing::info!(?after, subscriptions, "subscriptions read again");
        }
    }

    /// Returns the state of all before, if this was the last one that waited.
    fn stop_waiting(&mut self) -> Option<Waiting> {
        if !std::mem::replace(&mut self.waits, false) {
            return None;
        }
        let mut waiting = self.all.lock();
        waiting.count -= 1;
        (waiting.count == 0).then(|| std::mem::take(&mut *waiting))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // It has not read, so there is nothing to log.
        self.stop_waiting();
    }
}

impl Followers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
