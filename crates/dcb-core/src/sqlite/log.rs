//! The log behind the async and the blocking store: its connections and its unindexed keys.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use group_commit::{CommitError, SubmitError};
use rusqlite::Connection;
use sqlite_store::{
    Access, AsyncCommits, Delays, Location, OpenedFile, Readers, backup, reader_health,
    writer_health,
};
use store_meter::Holder;

use super::config::Config;
use super::counters::Counters;
use super::error::{backup_error, error};
use super::event_keys;
use super::request::{Request, Ticket, Verdict};
use super::schema;
use super::session;
use super::snapshot::{Snapshot, with_snapshot};
use super::unindexed_keys::UnindexedKeys;
use super::writer::Writer;
use crate::{Error, Fault, Health, Lanes, Metrics, Notifier, ProjectionLimit};

pub(super) struct Log {
    pub(super) config: Config,
    pub(super) async_commits: AsyncCommits,
    pub(super) counters: Counters,
    pub(super) projections: ProjectionLimit,
    pub(super) lanes: Lanes,
    pub(super) signal: Notifier,
    /// Those of the writer.
    delays: Delays,
    /// `None` once the log is closed.
    writer: Mutex<Option<Writer>>,
    /// `None` in memory, where the writer's connection is the only one.
    readers: Option<Readers>,
    unindexed_keys: UnindexedKeys,
}

impl Log {
    pub(super) fn open(config: Config, metrics: Metrics) -> Result<Self, Error> {
        let config = config.normalized()?;
        if config.read_only {
            return Self::open_to_read(config, metrics);
        }
        let writer = Writer::open(&config)?;
        // Create the tables before any reader opens the file, because readers can't create them.
        schema::ensure(writer.connection(), &config)?;
        event_keys::require_at_ends(writer.connection(), &config)?;
        let file = writer.file().cloned();
        let access = Access::Write;
        Ok(Self::new(config, file, Some(writer), access, metrics))
    }

    fn open_to_read(config: Config, metrics: Metrics) -> Result<Self, Error> {
        let access = session::access_for_reads(&config)?;
        let file = config.opened()?;
        let log = Self::new(config, file, None, access, metrics);
        log.read(Holder::Page, |connection| {
            schema::verify(connection, &log.config)?;
            event_keys::require_at_ends(connection, &log.config)
        })?;
        Ok(log)
    }

    fn new(
        config: Config,
        file: Option<OpenedFile>,
        writer: Option<Writer>,
        access: Access,
        metrics: Metrics,
    ) -> Self {
        let readers = file.map(|file| {
            let (meter, opens) = (metrics.store().reads().clone(), config.clone());
            let open = move || session::reader(&opens, access);
            Readers::new(&config, file, meter, open)
        });
        Self {
            projections: ProjectionLimit::new(config.max_concurrent_projections),
            lanes: Lanes::measured(config.lane_cache_bytes, metrics.clone()),
            signal: Notifier::default(),
            delays: writer
                .as_ref()
                .map(Writer::delays)
                .cloned()
                .unwrap_or_default(),
            writer: Mutex::new(writer),
            readers,
            unindexed_keys: UnindexedKeys::default(),
            async_commits: AsyncCommits::default(),
            counters: Counters::new(metrics),
            config,
        }
    }

    /// Whether the log is in memory, and so never waits for a disk or another process.
    pub(super) fn is_in_memory(&self) -> bool {
        self.config.location == Location::Memory
    }

    pub(super) fn commit(&self, batch: &[Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let last = batch.iter().map(|request| request.deadline).max();
        // Earlier callers withdraw their requests by themselves, but the caller on whose thread the
        // batch is committed has to stay.
        self.commit_until(last.unwrap_or_else(Instant::now), batch, self.writer())
    }

    /// Commits a batch; `None` if that would wait for another connection.
    pub(super) fn commit_at_once(
        &self,
        batch: &[Request],
    ) -> Option<Result<Vec<Verdict>, CommitError<Error>>> {
        let writer = self.writer.try_lock().ok()?;
        if writer.as_ref().is_some_and(Writer::may_wait) {
            return None;
        }
        match self.commit_until(Instant::now(), batch, writer) {
            Err(CommitError::Late) => None,
            committed => Some(committed),
        }
    }

    fn commit_until(
        &self,
        deadline: Instant,
        batch: &[Request],
        mut writer: MutexGuard<'_, Option<Writer>>,
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        let Some(open) = &mut *writer else {
            return Err(CommitError::Failed(self.no_writer()));
        };
        let readers = self.readers.as_ref();
        let verdicts = open.commit(
            deadline,
            batch,
            readers,
            &self.unindexed_keys,
            &self.counters,
        )?;
        // Announce after the lock is released: readers of a log in memory take the same lock.
        drop(writer);
        self.signal.notify();
        Ok(verdicts)
    }

    /// Empties the log between two batches.
    pub(super) fn clear(&self) -> Result<(), Error> {
        let cleared = match &*self.writer() {
            Some(writer) => writer.clear(),
            None => return Err(self.no_writer()),
        };
        // After a failure too, because the log may have been cleared.
        self.lanes.forget();
        cleared?;
        self.signal.notify();
        Ok(())
    }

    /// Commits what `work` writes, between two batches.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        match &*self.writer() {
            Some(writer) => writer.transaction(work),
            None => Err(self.no_writer()),
        }
    }

    /// Calls `work` with a reader's connection. A log in memory has only one connection.
    pub(super) fn read<T>(
        &self,
        holder: Holder,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.counters.read();
        match &self.readers {
            Some(readers) => readers.read(holder, work),
            None => {
                let _read = self.counters.metrics.store().reads().reading();
                self.with_writer(work)
            }
        }
    }

    /// Like [`Log::read`], but everything that `work` reads is from one snapshot.
    pub(super) fn with_snapshot<T>(
        &self,
        holder: Holder,
        work: impl FnOnce(&Snapshot<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.read(holder, |connection| {
            with_snapshot(connection, &self.unindexed_keys, work).map_err(|failed| error(&failed))
        })
    }

    /// Writes a copy of the log to a new file.
    pub(super) fn backup(&self, path: &Path) -> Result<(), Error> {
        self.read(Holder::Backup, |connection| {
            if self.is_in_memory() {
                return backup(connection, path).map_err(backup_error);
            }
            // VACUUM INTO writes to the copy only, but a connection for queries can't even do that.
            let only_queries = |only: bool| {
                let set = connection.pragma_update(None, "query_only", only);
                set.map_err(|failed| error(&failed))
            };
            only_queries(false)?;
            let written = backup(connection, path).map_err(backup_error);
            only_queries(true)?;
            written
        })
    }

    pub(super) fn health(&self) -> Result<Health, Error> {
        if let Some(readers) = &self.readers {
            readers.file().check()?;
        }
        // Read first, to test a reader's connection too.
        let check = |connection: &_| event_keys::require_at_ends(connection, &self.config);
        self.read(Holder::Page, check)?;
        if self.config.read_only {
            return self.read(Holder::Page, |connection| {
                reader_health(connection).map_err(|failed| error(&failed))
            });
        }
        self.with_writer(|connection| writer_health(connection).map_err(|failed| error(&failed)))
    }

    /// The number of open read connections.
    pub(super) fn read_connections(&self) -> usize {
        self.readers.as_ref().map_or(0, Readers::count)
    }

    /// Closes the connections. The writer's is last, because the last connection moves the rest of the
    /// write-ahead log into the file.
    pub(super) fn close(&self) {
        if let Some(readers) = &self.readers {
            readers.close();
        }
        drop(self.writer().take());
    }

    fn with_writer<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &*self.writer() {
            Some(writer) => work(writer.connection()),
            None => Err(self.no_writer()),
        }
    }

    /// The error of an append without a verdict.
    pub(super) fn without_verdict(&self, failed: SubmitError<Error>, ticket: &Ticket) -> Error {
        let call = ("append", self.config.write_timeout);
        let unknown = || Error::OutcomeUnknown {
            ids: ticket.ids.to_vec(),
        };
        let claim = &ticket.claim;
        self.delays.without_verdict(failed, claim, call, unknown)
    }

    /// Why there is no writer.
    fn no_writer(&self) -> Error {
        let refused = self.config.refuse_read_only().err();
        refused.unwrap_or(Fault::Closed).into()
    }

    /// Ignoring poison is safe: the next transaction rolls back what a panic left open.
    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
