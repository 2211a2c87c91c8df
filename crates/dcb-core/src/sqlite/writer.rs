//! The connection that appends. A batch is one transaction.
//!
//! The transaction starts with `BEGIN IMMEDIATE` and decides its requests one after the other. Each
//! request sees the events of the ones before it, so a batch has the same result as its requests in
//! sequence. Nothing is decided outside the transaction or deferred to a later one.
//! `tests/it/backends/batches.rs` fails without this.

use std::time::{Duration, Instant, SystemTime};

use group_commit::CommitError;
use rusqlite::{Connection, Result};
use sqlite_store::{
    Delays, Failure, OpenedFile, Readers, WriteAheadLog, failure, is_busy, leaves_commit_unknown,
};

use super::admission::verdict;
use super::config::Config;
use super::counters::Counters;
use super::error::error;
use super::indexing::{IndexingRun, move_slice};
use super::insert::Inserter;
use super::keys::keys;
use super::request::{Request, Verdict};
use super::row::micros;
use super::session::{self, retry};
use super::snapshot::Snapshot;
use super::statements::{BEGIN_WRITE, CLEAR, COMMIT, ROLLBACK};
use super::unindexed_keys::UnindexedKeys;
use crate::{Appended, Error, Position};

pub(super) struct Writer {
    /// `None` in memory. Before the connection, so that its checkpoint ends before SQLite closes the file.
    write_ahead_log: Option<WriteAheadLog>,
    connection: Connection,
    /// `None` in memory.
    file: Option<OpenedFile>,
    write_timeout: Duration,
    keys_in_memory: usize,
    delays: Delays,
    /// The unfinished move of keys into the tag index.
    indexing_run: Option<IndexingRun>,
}

/// The result of a batch, valid once its transaction is committed.
struct Applied<'c> {
    verdicts: Vec<Verdict>,
    written: Written,
    snapshot: Snapshot<'c>,
    indexing_run: Option<IndexingRun>,
}

/// Counts for the statistics.
#[derive(Default)]
struct Written {
    appends: u64,
    events: u64,
    conflicts: u64,
}

impl Writer {
    pub(super) fn open(config: &Config) -> Result<Self, Error> {
        let mut connection = session::writer(config)?;
        let file = config.opened()?;
        let of = |file| WriteAheadLog::of(&mut connection, file, config);
        let write_ahead_log = file.as_ref().map(of).transpose();
        Ok(Self {
            write_ahead_log: write_ahead_log.map_err(|failed| error(&failed))?,
            connection,
            file,
            write_timeout: config.write_timeout,
            keys_in_memory: config.keys_in_memory,
            delays: Delays::default(),
            indexing_run: None,
        })
    }

    pub(super) fn file(&self) -> Option<&OpenedFile> {
        self.file.as_ref()
    }

    pub(super) fn delays(&self) -> &Delays {
        &self.delays
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether a commit may wait for the end of reads.
    pub(super) fn may_wait(&self) -> bool {
        let log = self.write_ahead_log.as_ref();
        log.is_some_and(WriteAheadLog::is_too_long)
    }

    /// Commits the acceptable requests of a batch, and returns a verdict on each request. Waits for the
    /// file's lock until the deadline.
    pub(super) fn commit(
        &mut self,
        deadline: Instant,
        batch: &[Request],
        readers: Option<&Readers>,
        unindexed_keys: &UnindexedKeys,
        counters: &Counters,
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        if let (Some(log), Some(readers)) = (&self.write_ahead_log, readers) {
            log.prepare(&self.connection, readers);
        }
        self.begin(deadline)
            .map_err(|failed| match is_busy(&failed) {
                true => CommitError::Late,
                false => CommitError::Failed(error(&failed)),
            })?;
        let Applied {
            verdicts,
            written,
            snapshot,
            indexing_run,
        } = self.apply(batch, unindexed_keys).map_err(|failed| {
            self.roll_back();
            let cause = error(&failed);
            // A refused batch is split to isolate the bad request; a failed one is not retried.
            if failure(&failed) == Failure::Data {
                CommitError::Refused(cause)
            } else {
                CommitError::Failed(cause)
            }
        })?;
        self.end()?;
        // Publish only after the commit: a batch that fails must leave no keys behind.
        snapshot.publish();
        self.indexing_run = indexing_run;
        counters.committed(written.appends, written.events, written.conflicts);
        Ok(verdicts)
    }

    /// Empties the log in a transaction.
    pub(super) fn clear(&self) -> Result<(), Error> {
        // The keys in memory need no reset: the increased clearing count makes them obsolete.
        self.transaction(|_| CLEAR.iter().try_for_each(|delete| self.execute(delete)))
    }

    /// Commits what `work` writes, which is no event.
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T, Error> {
        self.begin(session::deadline(self.write_timeout))
            .map_err(|failed| error(&failed))?;
        let worked = work(&self.connection).map_err(|failed| {
            self.roll_back();
            error(&failed)
        })?;
        self.end().map_err(|failed| match failed {
            CommitError::Refused(error) | CommitError::Failed(error) => error,
            CommitError::Late | CommitError::Unknown(_) => {
                Error::OutcomeUnknown { ids: Vec::new() }
            }
        })?;
        Ok(worked)
    }

    /// Takes the file's write lock. Waits for another process until the deadline.
    fn begin(&self, deadline: Instant) -> Result<()> {
        // A panic may have left a transaction open.
        if !self.connection.is_autocommit() {
            self.roll_back();
        }
        let lock = || {
            let locked = self.execute(BEGIN_WRITE);
            self.delays.locked(&self.connection, &locked);
            locked
        };
        retry(deadline, lock)
    }

    /// Decides and writes one request after the other.
    fn apply(&self, batch: &[Request], unindexed_keys: &UnindexedKeys) -> Result<Applied<'_>> {
        let mut snapshot = Snapshot::for_writer(&self.connection, unindexed_keys)?;
        let recorded_at = micros(SystemTime::now());
        let mut inserter = Inserter::new(&self.connection)?;
        let mut written = Written::default();
        let mut verdicts = Vec::with_capacity(batch.len());
        for request in batch {
            // Only now does the commit begin for the caller, because the lock is taken.
            if !request.ticket.claim.begin() {
                let fault = self.delays.out_of_time("append", self.write_timeout);
                verdicts.push(Err(fault.into()));
                continue;
            }
            if let Some(refused) = verdict(&snapshot, request)? {
                written.conflicts += u64::from(matches!(refused, Err(Error::Conflict { .. })));
                verdicts.push(refused);
                continue;
            }
            let events = &request.append.events;
            for (event, id) in events.iter().zip(request.ticket.ids.iter()) {
                let position = snapshot.add_event(keys(event.event_type(), event.tags()));
                let recorded_at = event.recorded_at().map_or(recorded_at, micros);
                inserter.insert(event, *id, position, recorded_at)?;
            }
            if let Some(tracking) = &request.append.tracking {
                inserter.track(tracking)?;
            }
            // The head already includes the events of this request.
            let first = snapshot.head.unsigned_abs() + 1 - events.len() as u64;
            if let Some(command) = &request.append.command {
                inserter.insert_command(command, first.cast_signed(), events.len())?;
            }
            let first = Position::new(first).unwrap_or(Position::FIRST);
            verdicts.push(Ok(Appended::contiguous(first, events.len())));
            written.appends += 1;
            written.events += events.len() as u64;
        }
        // Pass a clone: if the transaction fails later, this slice has to be moved again.
        let indexing_run = move_slice(&snapshot, self.indexing_run.clone(), self.keys_in_memory)?;
        Ok(Applied {
            verdicts,
            written,
            snapshot,
            indexing_run,
        })
    }

    fn end(&self) -> Result<(), CommitError<Error>> {
        // Checked last: the file may be moved while the transaction waits or runs.
        if let Some(file) = &self.file {
            file.check().map_err(|file| {
                self.roll_back();
                CommitError::Failed(file.into())
            })?;
        }
        let begun = Instant::now();
        let committed = self.execute(COMMIT);
        Delays::committed(&self.connection, begun);
        if let Some(log) = &self.write_ahead_log {
            log.committed();
        }
        committed.map_err(|failed| {
            // A failed COMMIT may leave the transaction open.
            self.roll_back();
            if leaves_commit_unknown(&failed) {
                CommitError::Unknown(error(&failed))
            } else {
                CommitError::Failed(error(&failed))
            }
        })
    }

    fn roll_back(&self) {
        // The rollback fails only if SQLite has already rolled back by itself.
        let _ = self.execute(ROLLBACK);
    }

    fn execute(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fault;
    use crate::sqlite::schema;
    use crate::{Append, Event};

    fn set_max_pages(writer: &Writer, pages: i64) {
        let set = writer
            .connection
            .pragma_update(None, "max_page_count", pages);
        set.unwrap();
    }

    /// SQLite reports a full disk the same way as the limit that this test sets.
    #[test]
    fn full_disk_is_told_as_transient_with_nothing_written() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::file(folder.path().join("log.db"));
        let mut writer = Writer::open(&config).unwrap();
        schema::ensure(writer.connection(), &config).unwrap();
        // SQLite raises the limit to the size of the file.
        set_max_pages(&writer, 1);
        let event = Event::builder("A").data("1".repeat(100_000)).build();
        let batch = [Request::new(
            Append::new(event.unwrap()),
            config.write_timeout,
        )];
        let (keys, counters) = (UnindexedKeys::default(), Counters::default());
        let failed = writer
            .commit(Instant::now(), &batch, None, &keys, &counters)
            .unwrap_err();
        let CommitError::Failed(error @ Error::Fault(Fault::DiskFull(_))) = failed else {
            panic!("{failed:?}")
        };
        assert!(error.is_transient());
        set_max_pages(&writer, 1_000);
        let verdicts = writer
            .commit(Instant::now(), &batch, None, &keys, &counters)
            .unwrap();
        assert_eq!(verdicts[0].as_ref().unwrap().first().get(), 1);
    }
}
