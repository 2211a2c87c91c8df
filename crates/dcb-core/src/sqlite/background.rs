//! Runs blocking work outside the threads of the async runtime.
//!
//! The async store waits for a disk or another process only on tokio's blocking pool. A log in memory
//! never waits, so its work runs in the calling task. The tests of this module fail without this.

use std::sync::Arc;

use sqlite_store::in_background;

use super::log::Log;

/// Calls `work` on tokio's blocking pool, or right here for a log in memory. Returns `None` if the
/// runtime shut down before the work started.
pub(super) async fn run<T: Send + 'static>(
    log: &Arc<Log>,
    work: impl FnOnce(&Log) -> T + Send + 'static,
) -> Option<T> {
    if log.is_in_memory() {
        return Some(work(log));
    }
    let log = Arc::clone(log);
    in_background(move || work(&log)).await
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::Metrics;
    use crate::sqlite::Config;

    #[tokio::test]
    async fn work_on_a_file_leaves_the_runtime_thread() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::file(folder.path().join("log.db"));
        let log = Arc::new(Log::open(config, Metrics::default()).unwrap());
        let worker = run(&log, |_| thread::current().id()).await.unwrap();
        assert_ne!(worker, thread::current().id());
    }

    #[tokio::test]
    async fn work_in_memory_stays_in_the_calling_task() {
        let log = Arc::new(Log::open(Config::memory(), Metrics::default()).unwrap());
        let worker = run(&log, |_| thread::current().id()).await.unwrap();
        assert_eq!(worker, thread::current().id());
    }
}
