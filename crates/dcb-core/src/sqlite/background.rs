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
    match spawn_blocking(move || work(&log)).await {
        Ok(done) => Some(done),
        Err(failed) if failed.is_panic() => resume_unwind(failed.into_panic()),
        Err(_) => None,
    }
}
