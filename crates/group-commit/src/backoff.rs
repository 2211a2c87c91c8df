use std::time::Duration;

/// Pauses between tries: 20 ms, then twice as long each, up to 2 s. Needs a runtime of tokio with timers.
#[derive(Debug, Default)]
pub struct Backoff {
    tries: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(2);

    /// Waits before the next try.
    pub async fn pause(&mut self) {
        // 20 ms * 2^7 exceeds the longest pause, and the cap keeps the power from overflowing.
        const DOUBLINGS: u32 = 7;
        let pause = Self::FIRST * 2_u32.pow(self.tries.min(DOUBLINGS));
        self.tries += 1;
        tokio::time::sleep(pause.min(Self::LONGEST)).await;
    }

    /// Starts over with the shortest pause.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}
