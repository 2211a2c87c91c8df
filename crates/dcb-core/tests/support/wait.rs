//! Waiting for what other tasks and processes do.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Store;

/// Longer than anything takes; a test waits that long only to fail.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `done` holds.
pub(crate) async fn wait_until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !done().await {
        assert!(Instant::now() < give_up, "waited in vain until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until so many appends are in the store's queue.
pub(crate) async fn wait_for_queued(store: &Store, count: usize) {
    wait_until("the appends are queued", async || {
        store.stats().queued_appends == count
    })
    .await;
}
