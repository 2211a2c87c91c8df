//! The writer's connection, shared by the two commit queues.
//!
//! Invariant: a transaction starts with `BEGIN IMMEDIATE`, so a write does all its reads under the
//! file's write lock (test: `tests/it/sqlite/two_processes.rs`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use group_commit::{Commit, CommitBlocking, CommitError, deadline_after};
use rusqlite::Connection;
use sqlite_store::{
    AsyncCommits, Delays, Readers, WriteAheadLog, leaves_commit_unknown, read_only_file,
};
use store_meter::QueueMeter;
use tracing::debug_span;

use super::apply::apply;
use super::config::Config;
use super::counters::{Counters, Tally};
use super::error::Failure;
use super::request::{Request, Verdict};
use super::transaction::Transaction;
use crate::time::to_us;
use crate::{Error, Fault, Notifier};

/// Pause before another attempt to take the file's lock while another process holds it.
const BUSY_PAUSE: Duration = Duration::from_micros(500);

/// The writer's connection. The queue that is committing holds the lock.
pub(super) struct Writer {
    /// `None` in memory and if the store was opened only for reads. Before the connection, so that its
    /// checkpoint ends before SQLite closes the file.
    write_ahead_log: Option<WriteAheadLog>,
    /// `None` after the store was closed, or if it was opened only for reads.
    connection: Mutex<Option<Connection>>,
    is_read_only: bool,
    /// Those of the file; `None` in memory.
    readers: Option<Arc<Readers>>,
    timeout: Duration,
    counters: Arc<Counters>,
    notifier: Notifier,
    delays: Delays,
    async_commits: AsyncCommits,
}

impl Writer {
    pub(super) fn new(
        mut connection: Option<Connection>,
        readers: Option<Arc<Readers>>,
        config: &Config,
        counters: Arc<Counters>,
    ) -> Result<Self, Error> {
        let log = connection.as_mut().zip(readers.as_ref());
        let log = log.map(|(connection, readers)| {
            WriteAheadLog::of(connection, readers.file(), config).map_err(Failure::from)
        });
        Ok(Self {
            write_ahead_log: log.transpose()?,
            is_read_only: connection.is_none(),
            connection: Mutex::new(connection),
            readers,
            timeout: config.write_timeout,
            counters,
            notifier: Notifier::default(),
            delays: Delays::default(),
            async_commits: AsyncCommits::default(),
        })
    }

    pub(super) fn notifier(&self) -> &Notifier {
        &self.notifier
    }

    pub(super) fn delays(&self) -> &Delays {
        &self.delays
    }

    /// Locks the connection.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        // Poisoning can be ignored: a panic under the lock drops its `Transaction`, which rolls
        // back.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Why there is no connection.
    fn no_connection(&self) -> Error {
        match &self.readers {
            Some(readers) if self.is_read_only => {
                read_only_file(readers.file().path(), "it was opened only for reads").into()
            }
            _ => Error::Fault(Fault::Closed),
        }
    }

    /// Closes the connection. SQLite moves the log into the file when its last connection closes.
    pub(super) fn close(&self) {
        let connection = self.lock().take();
        if let Some(log) = &self.write_ahead_log {
            log.close();
        }
        drop(connection);
    }

    /// Runs `change` in a transaction. Retries while another process holds the lock.
    pub(super) fn change<T>(
        &self,
        mut change: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let give_up = deadline_after(Instant::now(), self.timeout);
        loop {
            match self.try_change(self.lock(), &mut change) {
                Ok(changed) => return Ok(changed),
                Err(Failure::Busy(_)) if Instant::now() < give_up => thread::sleep(BUSY_PAUSE),
                Err(Failure::Busy(error) | Failure::Failed(error)) => return Err(error),
                // `change` writes no new messages of a caller, so there are no ids to report.
                Err(Failure::Unknown(_)) => return Err(Error::OutcomeUnknown { ids: Vec::new() }),
            }
        }
    }

    fn try_change<T>(
        &self,
        guard: MutexGuard<'_, Option<Connection>>,
        change: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let connection = guard.as_ref().ok_or_else(|| self.no_connection())?;
        if let (Some(log), Some(readers)) = (&self.write_ahead_log, &self.readers) {
            log.prepare(connection, readers);
        }
        let transaction = Transaction::begin(connection);
        self.delays.locked(connection, &transaction);
        let transaction = transaction?;
        let changed = change(connection)?;
        // Checked last: the file may be moved while the transaction waits or runs.
        if let Some(readers) = &self.readers {
            readers.file().check()?;
        }
        let begun = Instant::now();
        let committed = transaction.commit();
        Delays::committed(connection, begun);
        if let Some(log) = &self.write_ahead_log {
            log.committed();
        }
        committed.map_err(commit_failure)?;
        // Unlock first, so that the woken readers of a store in memory don't wait for this thread.
        drop(guard);
        self.notifier.notify();
        Ok(changed)
    }

    fn try_commit(
        &self,
        guard: MutexGuard<'_, Option<Connection>>,
        batch: &[Request],
    ) -> Result<Vec<Verdict>, Failure> {
        let _span = debug_span!("messages.commit", writes = batch.len()).entered();
        let mut tally = Tally::default();
        let verdicts = self.try_change(guard, |connection| {
            // Read the clock under the lock, so that later positions rarely get earlier times.
            let time_us = to_us(SystemTime::now());
            let mut verdicts = Vec::with_capacity(batch.len());
            for request in batch {
                // Only now does the commit begin for the caller, because the lock is taken.
                if !request.claim.begin() {
                    let fault = self.delays.out_of_time("write", self.timeout);
                    verdicts.push(Err(fault.into()));
                    continue;
                }
                verdicts.push(apply(connection, request, time_us, &mut tally)?);
            }
            Ok(verdicts)
        })?;
        // Count after the commit, because a rolled-back attempt must not be counted.
        self.counters.committed(&tally);
        Ok(verdicts)
    }

    /// Commits a batch. Waits for another process's lock until the last caller gives up. Earlier ones
    /// withdraw their writes by themselves, but the caller on whose thread the batch is committed has
    /// to stay.
    fn commit(&self, batch: &[Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let last = batch.iter().map(|request| request.deadline).max();
        let give_up = last.unwrap_or_else(Instant::now);
        loop {
            match self.try_commit(self.lock(), batch).map_err(commit_error) {
                // The connection is unlocked here, so other calls can write during this pause.
                Err(CommitError::Late) if Instant::now() < give_up => thread::sleep(BUSY_PAUSE),
                committed => return committed,
            }
        }
    }

    /// Commits a batch; `None` if that would wait for another connection.
    fn commit_at_once(
        &self,
        batch: &[Request],
    ) -> Option<Result<Vec<Verdict>, CommitError<Error>>> {
        let guard = self.connection.try_lock().ok()?;
        let log = self.write_ahead_log.as_ref();
        if log.is_some_and(WriteAheadLog::is_too_long) {
            return None;
        }
        match self.try_commit(guard, batch).map_err(commit_error) {
            Err(CommitError::Late) => None,
            committed => Some(committed),
        }
    }
}

fn commit_error(failed: Failure) -> CommitError<Error> {
    match failed {
        Failure::Busy(_) => CommitError::Late,
        Failure::Failed(error) => CommitError::Failed(error),
        Failure::Unknown(error) => CommitError::Unknown(error),
    }
}

fn commit_failure(failed: rusqlite::Error) -> Failure {
    let is_unknown = leaves_commit_unknown(&failed);
    match Failure::from(failed) {
        Failure::Failed(error) if is_unknown => Failure::Unknown(error),
        failure => failure,
    }
}

/// Commits the batches of the async and the blocking queue.
pub(super) struct Committer(pub(super) Arc<Writer>);

impl CommitBlocking for Committer {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes
    }

    fn deadline(&self, request: &Request) -> Option<Instant> {
        Some(request.deadline)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.0.counters.metrics.store().queue())
    }

    /// Runs on the thread of the caller that leads the batch.
    fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        self.0.commit(batch)
    }
}

impl Commit for Committer {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes
    }

    fn deadline(&self, request: &Request) -> Option<Instant> {
        Some(request.deadline)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.0.counters.metrics.store().queue())
    }

    /// Runs in the task of the caller that leads the batch, or on tokio's blocking pool if it may take
    /// long. A store in memory never waits.
    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let writer = &self.0;
        if writer.readers.is_none() {
            return writer.commit(batch);
        }
        let commits = &writer.async_commits;
        let (at_once, commit) = (Writer::commit_at_once, Writer::commit);
        commits
            .commit(writer, batch, Request::take, at_once, commit)
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rusqlite::ffi;

    use super::*;
    use crate::sqlite::{BlockingSqliteStore, Config, SqliteStore};
    use crate::{ExpectedVersion, Message, MessageStore, StreamName};

    fn failed_with(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    /// SQLite writes the pages of a small transaction during its commit, so a full disk fails there.
    #[test]
    fn commit_that_fails_on_a_full_disk_has_written_nothing() {
        let full = commit_failure(failed_with(ffi::SQLITE_FULL));
        assert!(matches!(
            full,
            Failure::Failed(Error::Fault(Fault::DiskFull(_)))
        ));
        let unknown = commit_failure(failed_with(ffi::SQLITE_IOERR));
        assert!(matches!(unknown, Failure::Unknown(_)));
    }

    fn set_max_pages(store: &BlockingSqliteStore, pages: i64) {
        let writer = store.shared.writer.lock();
        let connection = writer.as_ref().unwrap();
        connection
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
    }

    /// SQLite reports a full disk the same way as the limit that this test sets.
    #[test]
    fn full_disk_is_told_as_transient_with_nothing_written() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::file(folder.path().join("messages.sqlite"));
        let store = BlockingSqliteStore::open(config).unwrap();
        let stream = StreamName::new("a-1").unwrap();
        let digits: String = (0..30_000).map(|number| format!("{number},")).collect();
        let message = Message::builder("A").data(&digits).build().unwrap();
        // SQLite raises the limit to the size of the file.
        set_max_pages(&store, 1);
        let refused = store.write_message(&stream, message.clone(), ExpectedVersion::NoStream);
        let error = refused.unwrap_err();
        assert!(
            matches!(error, Error::Fault(Fault::DiskFull(_))),
            "{error:?}"
        );
        assert!(error.is_transient());
        set_max_pages(&store, 1_000);
        let written = store.write_message(&stream, message, ExpectedVersion::NoStream);
        assert_eq!(written.unwrap().position.get(), 0);
    }

    /// An import holds the lock of the connection for as long as its messages take.
    #[tokio::test]
    async fn write_that_waits_for_the_connection_blocks_no_runtime_thread() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::file(folder.path().join("messages.sqlite"));
        let store = SqliteStore::open(config).await.unwrap();
        let writer = Arc::clone(&store.blocking().shared.writer);
        let (locks, locked) = mpsc::channel();
        let (releases, released) = mpsc::channel();
        let holder = thread::spawn(move || {
            let _guard = writer.lock();
            locks.send(()).unwrap();
            released.recv_timeout(Duration::from_secs(2))
        });
        locked.recv().unwrap();
        let stream = StreamName::new("a-1").unwrap();
        let message = Message::builder("A").build().unwrap();
        let write = store.write_message(&stream, message, ExpectedVersion::Any);
        // Both run on the single thread of this runtime.
        let release = async {
            let _ = releases.send(());
        };
        let (written, ()) = tokio::join!(write, release);
        written.unwrap();
        assert_eq!(holder.join().unwrap(), Ok(()), "the other task ran first");
    }
}
