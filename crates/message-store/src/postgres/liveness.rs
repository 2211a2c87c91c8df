use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Which connections of a pool may be dead.
///
/// A server that restarts kills them all, and each would fail the read that finds out. So after the
/// first such failure every connection that is older is checked once before it is used again.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    suspected: Mutex<Option<Instant>>,
}

impl Liveness {
    /// Every connection that was opened before now may be dead.
    pub(super) fn suspect(&self) {
        *self.lock() = Some(Instant::now());
    }

    /// Whether a connection opened then may be dead.
    pub(super) fn is_suspect(&self, opened: Instant) -> bool {
        self.lock().is_some_and(|suspected| opened < suspected)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.suspected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
