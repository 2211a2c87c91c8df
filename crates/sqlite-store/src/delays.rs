//! The causes of delayed commits: a lock of another connection, or the disk. Logs them, and names the
//! lock to callers whose time ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use group_commit::{Claim, SubmitError};
use rusqlite::{Connection, Result};
use store_fault::Fault;

use crate::{fault, is_busy};

/// A wait for the lock is logged after this time, while it goes on.
const LONG_WAIT: Duration = Duration::from_secs(2);
/// A commit is logged if it takes this long.
const LONG_COMMIT: Duration = Duration::from_secs(1);

/// The delays of one writer. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The wait for the file's lock, over all batches that give it up.
    waiting: Arc<Mutex<Option<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    /// The fault that the last try reported.
    cause: Fault,
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
                let waiting = waiting.get_or_insert_with(|| Waiting::begin(fault(failed)));
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

    /// The fault of a call whose time ended before its commit began: the lock of another connection if
    /// the writer's last try to take it failed, and otherwise the time limit.
    pub fn out_of_time(&self, operation: &'static str, limit: Duration) -> Fault {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match &*waiting {
            Some(waiting) => waiting.cause.clone(),
            None => Fault::TimedOut { operation, limit },
        }
    }

    /// The error of a call whose request got no verdict from the queue.
    ///
    /// A request that is in a batch but still waits for the file's lock is withdrawn here, so its caller
    /// learns that nothing of it is written.
    pub fn without_verdict<E: From<Fault>>(
        &self,
        failed: SubmitError<E>,
        claim: &Claim,
        (operation, limit): (&'static str, Duration),
        unknown: impl FnOnce() -> E,
    ) -> E {
        match failed {
            SubmitError::Refused(error) | SubmitError::Failed(error) => error,
            SubmitError::Closed => Fault::Closed.into(),
            SubmitError::Panicked => Fault::Panicked.into(),
            SubmitError::OutcomeUnknown if claim.withdraw() => {
                self.out_of_time(operation, limit).into()
            }
            failed if failed.may_have_been_written() => unknown(),
            // Callers don't distinguish the wait for space in the queue from that for the commit.
            _ => self.out_of_time(operation, limit).into(),
        }
    }

    /// Notes how long a commit took that began at this time.
    pub fn committed(connection: &Connection, begun: Instant) {
        let took = begun.elapsed();
        if took >= LONG_COMMIT {
            let file = connection.path();
            tracing::warn!(file, ?took, "a commit took long");
        }
    }
}

impl Waiting {
    fn begin(cause: Fault) -> Self {
        let now = Instant::now();
        Self {
            cause,
            since: now,
            last_try: now,
            is_told: false,
        }
    }

    /// How long the wait has lasted, once it is long. After a pause between the batches, the lock may
    /// have been free in the meantime, so the wait begins again.
    fn try_again(&mut self) -> Option<Duration> {
        if self.last_try.elapsed() >= LONG_WAIT {
            *self = Self::begin(self.cause.clone());
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
        let mut waiting = Waiting::begin(Fault::Closed);
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
    fn call_without_time_names_the_lock_while_the_writer_fails_to_take_it() {
        let delays = Delays::default();
        let out_of_time = || delays.clone().out_of_time("append", LONG_WAIT);
        let connection = Connection::open_in_memory().unwrap();
        assert!(matches!(
            out_of_time(),
            Fault::TimedOut {
                operation: "append",
                limit: LONG_WAIT
            }
        ));
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        let busy = rusqlite::Error::SqliteFailure(busy, None);
        delays.locked::<()>(&connection, &Err(busy));
        assert!(matches!(out_of_time(), Fault::Locked(_)));
        delays.locked(&connection, &Ok(()));
        assert!(matches!(out_of_time(), Fault::TimedOut { .. }));
    }

    #[test]
    fn long_commit_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = Arc::new(file.reopen().unwrap());
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
