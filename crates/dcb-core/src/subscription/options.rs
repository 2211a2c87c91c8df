use std::time::Duration;

/// How a subscription reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscribeOptions {
    /// The most events that it reads at once and keeps until they are taken; at least 1. Default:
    /// 4,096.
    pub batch_size: usize,
    /// How often it looks for new events though none were announced. What a store announces is a
    /// hint, this is the bound on the delay: of a store that announces nothing, and where an
    /// announcement was lost. Default: 200 ms.
    pub poll_interval: Duration,
}

impl SubscribeOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            batch_size: 4096,
            poll_interval: Duration::from_millis(200),
        }
    }

    /// At most `batch_size` events at once.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = batch_size.max(1);
        self
    }

    /// Looks for new events at least so often.
    #[must_use]
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self::new()
    }
}
