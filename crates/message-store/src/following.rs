use std::time::{Duration, Instant};

use store_meter::Share;

use crate::Metrics;

/// The metrics of a subscription, or of a run of a runner.
#[derive(Debug)]
pub(crate) struct Following {
    metrics: Metrics,
    lag: Share,
    /// When the end of the log was last looked up.
    looked: Option<Instant>,
    _open: Share,
}

impl Following {
    /// The end of the log is looked up at most so often. While a subscription catches up, every page
    /// would otherwise cost another read.
    const LOOK_EVERY: Duration = Duration::from_secs(1);

    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            lag: metrics.store().followers().lag(),
            _open: metrics.store().followers().begins(),
            metrics,
            looked: None,
        }
    }

    /// The subscription waits for new messages.
    pub(crate) fn waits(&self) {
        self.metrics.store().followers().waits();
    }

    /// The subscription tries again after a transient error.
    pub(crate) fn retries(&self) {
        self.metrics.store().followers().retries();
    }

    /// Whether to look up the end of the log now, after a page that is not the last.
    pub(crate) fn looks(&mut self) -> bool {
        let looks = cfg!(feature = "metrics")
            && self
                .looked
                .is_none_or(|looked| looked.elapsed() >= Self::LOOK_EVERY);
        if looks {
            self.looked = Some(Instant::now());
        }
        looks
    }

    /// The subscription has still to read this many positions.
    pub(crate) fn record_lag(&self, positions: u64) {
        self.lag.set(|| positions);
    }
}
