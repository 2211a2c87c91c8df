use std::time::Duration;

/// Pauses between retries. Each pause is twice as long as the previous one, up to a maximum.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(2);

    /// Waits before the next retry.
    pub(crate) async fn pause(&mut self) {
        // 20 ms * 2^7 exceeds the longest pause, and the cap keeps the power from overflowing.
        const DOUBLINGS: u32 = 7;
        let pause = Self::FIRST * 2_u32.pow(self.tries.min(DOUBLINGS));
        self.tries += 1;
        tokio::time::sleep(pause.min(Self::LONGEST)).await;
    }

    /// Starts over with the shortest pause.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}
