//! The one connection that appends: a batch is a transaction.

use std::time::{Duration, SystemTime};

use group_commit::CommitError;
use rusqlite::{Connection, Result};

use super::admission::verdict;
use super::config::Config;
use super::counters::Counters;
use super::error::{error, is_busy, is_of_data, leaves_commit_unknown};
use super::insert::Inserter;
use super::read::head;
use super::request::{Request, Verdict};
use super::row::micros;
use super::session::{self, retry};
use super::statements::{BEGIN_WRITE, CLEAR, COMMIT, ROLLBACK};
use crate::{Appended, Error, Position};

pub(super) struct Writer {
    connection: Connection,
    append_timeout: Duration,
}

/// What a batch has written so far.
#[derive(Default)]
struct Written {
    appends: u64,
    events: u64,
    conflicts: u64,
}

impl Writer {
    pub(super) fn open(config: &Config) -> Result<Self, Error> {
        Ok(Self {
            connection: session::writer(config)?,
            append_timeout: config.append_timeout,
        })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Commits what can be committed of a batch, and returns a verdict on each request.
    pub(super) fn commit(
        &self,
        batch: &[Request],
        counters: &Counters,
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        self.begin("append")?;
        let mut written = Written::default();
        match self.apply(batch, &mut written) {
            Ok(verdicts) => {
                self.end()?;
                counters.committed(written.appends, written.events, written.conflicts);
                Ok(verdicts)
            }
            Err(failed) => {
                self.roll_back();
                let refused = error(&failed);
                Err(if is_of_data(&failed) {
                    CommitError::Refused(refused)
                } else {
                    CommitError::Failed(refused)
                })
            }
        }
    }

    /// Empties the log in a transaction.
    pub(super) fn clear(&self) -> Result<(), Error> {
        let cause = |failed| match failed {
            CommitError::Refused(error)
            | CommitError::Failed(error)
            | CommitError::Unknown(error) => error,
        };
        self.begin("clear").map_err(cause)?;
        for delete in CLEAR {
            self.run(delete).map_err(|failed| {
                self.roll_back();
                error(&failed)
            })?;
        }
        self.end().map_err(cause)
    }

    /// Takes the file's write lock. The wait for another process ends before the caller's own, so
    /// that the caller learns that nothing was written.
    fn begin(&self, operation: &'static str) -> Result<(), CommitError<Error>> {
        // Left behind by a panic.
        if !self.connection.is_autocommit() {
            self.roll_back();
        }
        let deadline = session::deadline(self.append_timeout / 5 * 4);
        retry(deadline, || self.run(BEGIN_WRITE)).map_err(|failed| {
            CommitError::Failed(if is_busy(&failed) {
                Error::Timeout {
                    operation,
                    limit: self.append_timeout,
                }
            } else {
                error(&failed)
            })
        })
    }

    /// Decides one request after the other; each sees what those before it wrote.
    fn apply(&self, batch: &[Request], written: &mut Written) -> Result<Vec<Verdict>> {
        let mut head = head(&self.connection)?;
        let recorded_at = micros(SystemTime::now());
        let mut inserter = Inserter::new(&self.connection)?;
        let mut verdicts = Vec::with_capacity(batch.len());
        for request in batch {
            if let Some(refused) = verdict(&self.connection, request, head)? {
                written.conflicts += u64::from(matches!(refused, Err(Error::Conflict { .. })));
                verdicts.push(refused);
                continue;
            }
            let events = &request.append.events;
            for (event, id) in events.iter().zip(request.ids.iter()) {
                head += 1;
                inserter.insert(event, *id, head, recorded_at)?;
            }
            if let Some(tracking) = &request.append.tracking {
                inserter.track(tracking)?;
            }
            let first = head.unsigned_abs() + 1 - events.len() as u64;
            if let Some(command) = &request.append.command {
                inserter.keep(command, first.cast_signed(), events.len())?;
            }
            let first = Position::new(first).unwrap_or(Position::FIRST);
            verdicts.push(Ok(Appended::contiguous(first, events.len())));
            written.appends += 1;
            written.events += events.len() as u64;
        }
        Ok(verdicts)
    }

    fn end(&self) -> Result<(), CommitError<Error>> {
        self.run(COMMIT).map_err(|failed| {
            self.roll_back();
            if leaves_commit_unknown(&failed) {
                CommitError::Unknown(error(&failed))
            } else {
                CommitError::Failed(error(&failed))
            }
        })
    }

    fn roll_back(&self) {
        // What fails here is gone already: SQLite rolls back by itself where it can't go on.
        let _ = self.run(ROLLBACK);
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }
}
