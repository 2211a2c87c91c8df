//! Logs the causes of delayed commits: a lock of another connection, or the disk.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Result};

use crate::is_busy;

/// A wait for the lock is logged after this time, while it goes on.
const LONG_WAIT: Duration = Duration::from_secs(2);
/// A commit is logged if it takes this long. It writes to the disk, and sometimes moves the
/// write-ahead log into the file.
const LONG_COMMIT: Duration = Duration::from_secs(1);

/// The delays of one writer.
#[derive(Debug, Default)]
pub struct Delays {
    /// The wait for the file's lock, over all batches that give it up.
    waiting: Mutex<Option<Waiting>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    since: Instant,
    last_try: Instant,
    is_told: bool,
}

impl Delays {
    /// Notes the result of a try to take the file's lock.
    pub fn locked<T>(&self, connection: &Connection, result: &Result<T>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Err(failed) if is_busy(failed) => {
                let waiting = waiting.get_or_insert_with(Waiting::begin);
                if let Some(waited) = waiting.try_again() {
                    let file = connection.path();
                    tracing::warn!(
                        file,
                        ?waited,
                        "another connection holds the lock of the file"
                    );
                }
            }
            _ => {
                if let Some(waiting) = waiting.take().filter(|waiting| waiting.is_told) {
                    let (file, waited) = (connection.path(), waiting.since.elapsed());
                    tracing::info!(file, ?waited, "the lock of the file is free again");
                }
            }
        }
    }

    /// Notes how long a commit took that began at this time.
    pub fn committed(connection: &Connection, begun: Instant) {
        let took = begun.elapsed();
        if took >= LONG_COMMIT {
            let file = connection.path();
            tracing::warn!(file, ?took, "a commit or its checkpoint took long");
        }
    }
}

impl Waiting {
    fn begin() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            last_try: now,
            is_told: false,
        }
    }

    /// How long the wait has lasted, once it is long. After a pause between the batches, the lock may
    /// have been free in the meantime, so the wait begins again.
    fn try_again(&mut self) -> Option<Duration> {
        if self.last_try.elapsed() >= LONG_WAIT {
            *self = Self::begin();
        }
        self.last_try = Instant::now();
        let waited = self.last_try - self.since;
        let is_due = waited >= LONG_WAIT && !self.is_told;
        self.is_told |= is_due;
        is_due.then_some(waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_wait_is_told_once_and_begins_again_after_a_pause() {
        let mut waiting = Waiting::begin();
        assert_eq!(waiting.try_again(), None);
        let long_ago = |by| Instant::now().checked_sub(by).unwrap();
        waiting.since = long_ago(LONG_WAIT);
        assert!(waiting.try_again() >= Some(LONG_WAIT));
        assert_eq!(waiting.try_again(), None);
        waiting.last_try = long_ago(LONG_WAIT);
        assert_eq!(waiting.try_again(), None);
        assert!(!waiting.is_told);
    }

    #[test]
    fn long_commit_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = std::sync::Arc::new(file.reopen().unwrap());
        let log = tracing_subscriber::fmt().with_writer(lines).finish();
        let connection = Connection::open_in_memory().unwrap();
        tracing::subscriber::with_default(log, || {
            Delays::committed(&connection, Instant::now());
            let long_ago = Instant::now().checked_sub(LONG_COMMIT);
            Delays::committed(&connection, long_ago.unwrap());
        });
        let lines = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(lines.contains("took long"), "{lines}");
    }
}
