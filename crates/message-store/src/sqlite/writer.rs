//! The one connection that writes, and the two queues' way to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use group_commit::{Commit, CommitBlocking, CommitError};
use rusqlite::Connection;
use tracing::debug_span;

use super::apply::apply;
use super::counters::{Counters, Tally};
use super::error::is_busy;
use super::request::{Request, Verdict};
use super::transaction::Transaction;
use crate::time::to_us;
use crate::{Error, Notifier};

/// How long to wait before the file's lock is asked for again, while another process has it.
const BUSY_PAUSE: Duration = Duration::from_micros(500);

/// Shared by the queue of the async callers and that of the blocking ones: whoever of the two
/// commits holds the connection.
pub(super) struct Writer {
    /// `None` once closed.
    connection: Mutex<Option<Connection>>,
    timeout: Duration,
    counters: Arc<Counters>,
    notifier: Notifier,
}

/// Why a batch, or another change, was not committed.
pub(super) enum Failure {
    /// Another process has the lock; nothing was done.
    Busy,
    /// Nothing was written.
    Failed(Error),
    /// It broke off in the commit itself.
    Unknown(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Writer {
    pub(super) fn new(connection: Connection, timeout: Duration, counters: Arc<Counters>) -> Self {
        Self {
            connection: Mutex::new(Some(connection)),
            timeout,
            counters,
            notifier: Notifier::default(),
        }
    }

    pub(super) fn notifier(&self) -> &Notifier {
        &self.notifier
    }

    /// The connection, for as long as the guard is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        // A panic under the lock has rolled its transaction back.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection; the last one of a file folds its log into it.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }

    /// Changes something in a transaction of its own; waits where another process has the lock.
    pub(super) fn change<T>(
        &self,
        mut change: impl FnMut(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let give_up = Instant::now() + self.timeout;
        loop {
            match self.try_change(|connection| Ok(change(connection)?)) {
                Ok(changed) => return Ok(changed),
                Err(Failure::Busy) if Instant::now() < give_up => thread::sleep(BUSY_PAUSE),
                Err(Failure::Busy) => return Err(self.timed_out()),
                Err(Failure::Failed(error)) => return Err(error),
                Err(Failure::Unknown(_)) => return Err(Error::OutcomeUnknown { ids: Vec::new() }),
            }
        }
    }

    fn try_change<T>(
        &self,
        change: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let guard = self.lock();
        let connection = guard.as_ref().ok_or(Error::Closed)?;
        let transaction = Transaction::begin(connection).map_err(busy_or_failed)?;
        let changed = change(connection)?;
        transaction.commit().map_err(commit_failure)?;
        drop(guard);
        self.notifier.notify();
        Ok(changed)
    }

    fn try_commit(&self, batch: &[Request]) -> Result<Vec<Verdict>, Failure> {
        let _span = debug_span!("messages.commit", writes = batch.len()).entered();
        let mut tally = Tally::default();
        let verdicts = self.try_change(|connection| {
            let time_us = to_us(SystemTime::now());
            let mut verdicts = Vec::with_capacity(batch.len());
            for request in batch {
                verdicts.push(apply(connection, request, time_us, &mut tally)?);
            }
            Ok(verdicts)
        })?;
        self.counters.committed(&tally);
        Ok(verdicts)
    }

    fn timed_out(&self) -> Error {
        Error::Timeout {
            operation: "write",
            limit: self.timeout,
        }
    }

    /// What the queue is told; `None` to try again.
    fn outcome(
        &self,
        attempt: Result<Vec<Verdict>, Failure>,
        give_up: Instant,
    ) -> Option<Result<Vec<Verdict>, CommitError<Error>>> {
        Some(match attempt {
            Ok(verdicts) => Ok(verdicts),
            Err(Failure::Busy) if Instant::now() < give_up => return None,
            Err(Failure::Busy) => Err(CommitError::Failed(self.timed_out())),
            Err(Failure::Failed(error)) => Err(CommitError::Failed(error)),
            Err(Failure::Unknown(error)) => Err(CommitError::Unknown(error)),
        })
    }
}

fn busy_or_failed(error: rusqlite::Error) -> Failure {
    if is_busy(&error) {
        Failure::Busy
    } else {
        error.into()
    }
}

/// A commit that was refused for a lock has written nothing. One that failed otherwise may have
/// reached the log.
fn commit_failure(error: rusqlite::Error) -> Failure {
    if is_busy(&error) {
        Failure::Failed(error.into())
    } else {
        Failure::Unknown(error.into())
    }
}

/// Commits on a caller's thread.
pub(super) struct OnThread(pub(super) Arc<Writer>);

impl CommitBlocking for OnThread {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes
    }

    fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let give_up = Instant::now() + self.0.timeout;
        loop {
            if let Some(outcome) = self.0.outcome(self.0.try_commit(batch), give_up) {
                return outcome;
            }
            thread::sleep(BUSY_PAUSE);
        }
    }
}

/// Commits in a caller's task. The commit itself blocks that task's thread, for an fsync at most:
/// to hand it to another thread would cost more. A lock of another process is waited for without a
/// thread.
pub(super) struct InTask(pub(super) Arc<Writer>);

impl Commit for InTask {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes
    }

    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let give_up = Instant::now() + self.0.timeout;
        loop {
            if let Some(outcome) = self.0.outcome(self.0.try_commit(batch), give_up) {
                return outcome;
            }
            tokio::time::sleep(BUSY_PAUSE).await;
        }
    }
}
