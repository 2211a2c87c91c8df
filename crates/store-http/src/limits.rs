use std::time::Duration;

/// Smallest share. It holds a poke with the longest name of a stream.
const MIN_SHARE: usize = 8 << 10;

/// How much the routers do at once. A request beyond a limit gets an error that names the limit.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of a body in bytes; of an import, which is streamed, of each line. 16 MiB.
    pub max_body_bytes: usize,
    /// How long a body, or the next part of a streamed one, may take to arrive. 30 s.
    pub body_timeout: Duration,
    /// Maximum number of concurrent requests. 256.
    pub max_requests: usize,
    /// Maximum number of requests that wait for others to end; more get 503. 1024.
    pub max_waiting: usize,
    /// Maximum number of open subscriptions. 1000.
    pub max_subscriptions: usize,
    /// Maximum memory in bytes, over all subscribers, for data that they have not read yet. Less
    /// than [`Self::least_subscriber_bytes`] counts as that. 64 MiB.
    pub subscriber_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            body_timeout: Duration::from_secs(30),
            max_requests: 256,
            max_waiting: 1024,
            max_subscriptions: 1000,
            subscriber_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// The memory that this number of subscriptions needs, in bytes.
    pub fn least_subscriber_bytes(&self) -> usize {
        self.max_subscriptions.saturating_mul(2 * MIN_SHARE)
    }
}
