use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::sql::PATIENCE;

/// When writes were acknowledged.
pub(crate) struct Pulse(Mutex<Beats>);

struct Beats {
    count: u64,
    last: Instant,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        let last = Instant::now();
        Self(Mutex::new(Beats { count: 0, last }))
    }

    pub(crate) fn beat(&self) {
        let mut beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        beats.count += 1;
        beats.last = Instant::now();
    }

    /// Waits until more writes are acknowledged.
    pub(crate) async fn wait_for(&self, more: u64) {
        let enough = self.now().0 + more;
        self.wait_until("more writes are acknowledged", |count, _| count >= enough)
            .await;
    }

    /// How long after `instant` a write was acknowledged.
    pub(crate) async fn after(&self, instant: Instant) -> Duration {
        self.wait_until("a write is acknowledged", |_, last| last > instant)
            .await
            - instant
    }

    async fn wait_until(&self, what: &str, done: impl Fn(u64, Instant) -> bool) -> Instant {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let (count, last) = self.now();
            if done(count, last) {
                return last;
            }
            assert!(Instant::now() < give_up, "timed out waiting until {what}");
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn now(&self) -> (u64, Instant) {
        let beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (beats.count, beats.last)
    }
}
