//! Waits for effects of other tasks and processes.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::backend::SharedStore;

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until `done` returns true.
pub(crate) async fn wait_until(event: &str, mut done: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + TIMEOUT;
    while !done().await {
        assert!(Instant::now() < give_up, "timed out waiting until {event}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until `count` appends are in the store's queue.
pub(crate) async fn wait_for_queued(store: &impl SharedStore, count: usize) {
    wait_until("the appends are queued", async || {
        store.stats().queued_appends == count as u64
    })
    .await;
}
