//! What both faces of a store share: the file or memory, and the connections to it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use group_commit::CommitError;
use rusqlite::Connection;

use super::config::Config;
use super::counters::Counters;
use super::error::error;
use super::health::Health;
use super::moment::{Moment, at_one_moment};
use super::readers::Readers;
use super::request::{Request, Verdict};
use super::schema;
use super::session::pragma;
use super::tail::Tail;
use super::writer::Writer;
use crate::{AppendSignal, Error, ProjectionLimit};

pub(super) struct Log {
    pub(super) config: Config,
    pub(super) counters: Counters,
    pub(super) projections: ProjectionLimit,
    pub(super) signal: AppendSignal,
    /// `None` once the log is closed.
    writer: Mutex<Option<Writer>>,
    readers: Readers,
    tail: Tail,
}

impl Log {
    pub(super) fn open(mut config: Config) -> Result<Self, Error> {
        // A working directory that changes later must not lead readers to another file.
        config.path = config.path.as_deref().map(absolute).transpose()?;
        let writer = Writer::open(&config)?;
        schema::ensure(writer.connection(), &config)?;
        Ok(Self {
            counters: Counters::default(),
            projections: ProjectionLimit::new(config.max_concurrent_projections),
            signal: AppendSignal::default(),
            writer: Mutex::new(Some(writer)),
            readers: Readers::default(),
            tail: Tail::default(),
            config,
        })
    }

    /// Whether nothing that it does waits for a disk or another process.
    pub(super) fn is_in_memory(&self) -> bool {
        self.config.path.is_none()
    }

    pub(super) fn commit(&self, batch: &[Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let verdicts = match &mut *self.writer() {
            Some(writer) => writer.commit(batch, &self.tail, &self.counters)?,
            None => return Err(CommitError::Failed(Error::Closed)),
        };
        self.signal.announce();
        Ok(verdicts)
    }

    /// Empties the log, between two batches.
    pub(super) fn clear(&self) -> Result<(), Error> {
        match &*self.writer() {
            Some(writer) => writer.clear()?,
            None => return Err(Error::Closed),
        }
        self.signal.announce();
        Ok(())
    }

    /// Calls `work` with a connection: one of the readers' for a file, the only one for memory.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.counters.read();
        if self.is_in_memory() {
            return self.with_writer(work);
        }
        self.readers.with(&self.config, work)
    }

    /// As [`Log::read`]; all that `work` reads is of one moment.
    pub(super) fn at_one_moment<T>(
        &self,
        work: impl FnOnce(&Moment<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        self.read(|connection| {
            at_one_moment(connection, &self.tail, work).map_err(|failed| error(&failed))
        })
    }

    pub(super) fn health(&self) -> Result<Health, Error> {
        self.read(|connection| super::read::head(connection).map_err(|failed| error(&failed)))?;
        self.with_writer(|connection| {
            let mode: rusqlite::Result<String> =
                connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
            let synchronous = pragma(connection, "synchronous").map_err(|failed| error(&failed))?;
            let level = match synchronous {
                0 => "off",
                1 => "normal",
                _ => "full",
            };
            Ok(Health {
                sqlite_version: rusqlite::version().to_owned(),
                durability: vec![
                    ("journal_mode", mode.map_err(|failed| error(&failed))?),
                    ("synchronous", level.to_owned()),
                ],
            })
        })
    }

    /// How many connections read.
    pub(super) fn read_connections(&self) -> usize {
        self.readers.open()
    }

    /// Closes the connections, the writer's last: it moves what is left of the write-ahead log into
    /// the file.
    pub(super) fn close(&self) {
        self.readers.close();
        drop(self.writer().take());
    }

    fn with_writer<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &*self.writer() {
            Some(writer) => work(writer.connection()),
            None => Err(Error::Closed),
        }
    }

    /// Poisoned or not: the next transaction rolls back what a panic left behind.
    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path from the root: one that SQLite can't take for something else than a file.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|failed| Error::Unavailable {
        reason: format!("{}: {failed}", path.display()).into(),
    })
}
