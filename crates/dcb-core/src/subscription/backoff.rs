use std::time::Duration;

/// Pauses between tries, each twice as long as the one before.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    tries: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(2);

    /// Waits before the next try.
    pub(crate) async fn pause(&mut self) {
        const DOUBLINGS: u32 = 7;
        let pause = Self::FIRST * 2_u32.pow(self.tries.min(DOUBLINGS));
        self.tries += 1;
        tokio::time::sleep(pause.min(Self::LONGEST)).await;
    }

    /// Begins with the shortest pause again.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}
