//! The hop to a thread that may wait for a disk.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::log::Log;

/// Calls `work` on a thread of tokio's blocking pool, or right here where the log has nothing to
/// wait for. `None` where the runtime shut down before it began.
pub(super) async fn run<T: Send + 'static>(
    log: &Arc<Log>,
    work: impl FnOnce(&Log) -> T + Send + 'static,
) -> Option<T> {
    if log.is_in_memory() {
        return Some(work(log));
    }
    let log = Arc::clone(log);
    hop(move || work(&log)).await
}

/// Calls `work` on a thread of tokio's blocking pool. `None` where the runtime shut down before it
/// began.
pub(super) async fn hop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(failed) if failed.is_panic() => resume_unwind(failed.into_panic()),
        Err(_) => None,
    }
}
