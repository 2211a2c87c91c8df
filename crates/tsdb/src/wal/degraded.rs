use std::time::Instant;

use parking_lot::Mutex;

use crate::storage::StorageFailure;

/// Logs that the log of the series can't be written, and that it can be again.
#[derive(Debug, Default)]
pub(super) struct Degraded {
    since: Mutex<Option<Instant>>,
}

impl Degraded {
    pub(super) fn begins(&self, cause: &StorageFailure) {
        *self.since.lock() = Some(Instant::now());
        tracing::warn!(%cause, "the log of the series can't be written: writes are refused");
    }

    pub(super) fn ends(&self) {
        if let Some(since) = self.since.lock().take() {
            let after = since.elapsed();
            tracing::info!(?after, "the log of the series is written again");
        }
    }
}
