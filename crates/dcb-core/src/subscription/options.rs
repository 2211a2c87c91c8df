use std::time::Duration;

/// The options of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscribeOptions {
    /// The maximum number of events per read, which stay in memory until they are taken; at least 1.
    /// Default: 4,096.
    pub batch_size: usize,
    /// The longest pause between looks at the end of the log without an announcement. It bounds the
    /// delay of an event if the store announces nothing or an announcement is lost; a look that does not
    /// end can triple it. The subscriptions of a store share their looks, so idle ones cost the server
    /// the same, one or a thousand. Default: 200 ms.
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

    /// Reads at most `batch_size` events at once.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = batch_size.max(1);
        self
    }

    /// Polls for new events at least this often.
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
