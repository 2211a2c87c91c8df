use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::failure::{is_passing, with_causes};
use super::stop::Stop;
use super::{Consumer, End, Outage, RunOptions};
use crate::{Error, MessageStore};

/// Pauses between retries. Each is twice as long as the one before, up to a maximum.
pub(super) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(super) fn new(options: &RunOptions) -> Self {
        Self {
            next: options.first_pause.min(options.longest_pause),
            longest: options.longest_pause,
        }
    }

    pub(super) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.longest);
        pause
    }
}

impl<S: MessageStore> Consumer<S> {
    /// Pauses after an error that may pass, and returns any other.
    pub(super) async fn wait_out(
        &self,
        error: Error,
        pauses: &mut Pauses,
        stop: &mut Stop<'_>,
    ) -> Result<(), End> {
        if !is_passing(&error) {
            return Err(End::Failed(error));
        }
        self.begin_outage(Arc::new(error));
        stop.or(sleep(pauses.next())).await
    }

    pub(super) fn begin_outage(&self, outage: Outage) {
        self.store.metrics().store().followers().retries();
        let error = with_causes(&*outage);
        if self.progress.begin_outage(outage) {
            let (consumer, lag) = (self.checkpoint_name(), self.progress.lag());
            tracing::warn!(consumer, lag, error, "a consumer waits");
        }
    }

    pub(super) fn recovered(&self) {
        if let Some((waited, retries)) = self.progress.end_outage() {
            let seconds = waited.as_secs_f64();
            let consumer = self.checkpoint_name();
            tracing::info!(consumer, seconds, retries, "a consumer goes on");
        }
    }
}
