use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

/// Which of the readers' connections may be dead.
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
        *self
            .suspected
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection opened then may be dead.
    pub(super) fn is_suspect(&self, opened: Instant) -> bool {
        let suspected = *self
            .suspected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        suspected.is_some_and(|suspected| opened < suspected)
    }
}
