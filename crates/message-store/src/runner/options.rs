use std::time::Duration;

use crate::OnFailure;

/// Settings of a [`MessageRunner`](crate::MessageRunner).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// Maximum number of messages per read, and therefore in memory. Default: 100.
    pub batch_size: u64,
    /// How long to wait for a hint before reading without one. Default: 1 s.
    pub poll_interval: Duration,
    /// Save the checkpoint after this number of messages. Default: 100. After a crash, the messages
    /// since the last saved checkpoint are handled again.
    pub checkpoint_messages: u64,
    /// Save the checkpoint at the latest after this time. Default: 1 s. A handler that takes longer
    /// delays it.
    pub checkpoint_interval: Duration,
    /// The number of times that a handler tries a message before it has failed; at least 1. Default: 10,
    /// which takes 6.5 s with the default pauses. Tries during an outage don't count.
    pub max_tries: u32,
    /// The way on if a handler fails. Default: [`OnFailure::Skip`].
    pub on_failure: OnFailure,
    /// The pause before the first retry. Each further pause is twice as long. Default: 20 ms.
    pub first_pause: Duration,
    /// The longest pause before a retry. Default: 2 s.
    pub longest_pause: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            batch_size: 100,
            poll_interval: Duration::from_secs(1),
            checkpoint_messages: 100,
            checkpoint_interval: Duration::from_secs(1),
            max_tries: 10,
            on_failure: OnFailure::Skip,
            first_pause: Duration::from_millis(20),
            longest_pause: Duration::from_secs(2),
        }
    }
}

impl RunOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most this number of messages per read.
    #[must_use]
    pub fn batch_size(mut self, batch_size: u64) -> Self {
        self.batch_size = batch_size;
        self
    }

    /// Reads without a hint after this time.
    #[must_use]
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }

    /// Saves the checkpoint after this number of messages or this time, whichever comes first.
    #[must_use]
    pub fn checkpoint_after(mut self, messages: u64, interval: Duration) -> Self {
        self.checkpoint_messages = messages;
        self.checkpoint_interval = interval;
        self
    }

    /// Gives up on a message after this number of tries.
    #[must_use]
    pub fn max_tries(mut self, max_tries: u32) -> Self {
        self.max_tries = max_tries;
        self
    }

    /// Sets the way on if a handler fails.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Pauses this long between tries, from the first pause to the longest.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.first_pause = first;
        self.longest_pause = longest;
        self
    }
}
