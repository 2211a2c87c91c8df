//! The one connection that appends: a batch is a transaction.

use std::time::{Duration, SystemTime};

use group_commit::CommitError;
use rusqlite::{Connection, Result};

use super::admission::verdict;
use super::config::Config;
use super::counters::Counters;
use super::error::{error, is_busy, is_of_data, leaves_commit_unknown};
use super::indexing::{Run, move_slice};
use super::insert::Inserter;
use super::keys::keys;
use super::moment::Moment;
use super::request::{Request, Verdict};
use super::row::micros;
use super::session::{self, retry};
use super::statements::{BEGIN_WRITE, CLEAR, COMMIT, ROLLBACK};
use super::tail::Tail;
use crate::{Appended, Error, Position};

pub(super) struct Writer {
    connection: Connection,
    append_timeout: Duration,
    keys_in_memory: usize,
    /// The keys that are on their way into the tag index.
    run: Option<Run>,
}

/// What a batch has come to, once it is committed.
struct Applied<'c> {
    verdicts: Vec<Verdict>,
    written: Written,
    moment: Moment<'c>,
    run: Option<Run>,
}

/// How much a batch has written.
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
            keys_in_memory: config.keys_in_memory,
            run: None,
        })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Commits what can be committed of a batch, and returns a verdict on each request.
    pub(super) fn commit(
        &mut self,
        batch: &[Request],
        tail: &Tail,
        counters: &Counters,
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        self.begin("append")?;
        let Applied {
            verdicts,
            written,
            moment,
            run,
        } = self.apply(batch, tail).map_err(|failed| {
            self.roll_back();
            let refused = error(&failed);
            if is_of_data(&failed) {
                CommitError::Refused(refused)
            } else {
                CommitError::Failed(refused)
            }
        })?;
        self.end()?;
        moment.keep_own();
        self.run = run;
        counters.committed(written.appends, written.events, written.conflicts);
        Ok(verdicts)
    }

    /// Empties the log in a transaction.
    pub(super) fn clear(&self) -> Result<(), Error> {
        let cause = |failed| match failed {
            CommitError::Refused(error) | CommitError::Failed(error) => error,
            CommitError::Unknown(_) => Error::OutcomeUnknown { ids: Vec::new() },
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
    fn apply(&self, batch: &[Request], tail: &Tail) -> Result<Applied<'_>> {
        let mut moment = Moment::of_writer(&self.connection, tail)?;
        let recorded_at = micros(SystemTime::now());
        let mut inserter = Inserter::new(&self.connection)?;
        let mut written = Written::default();
        let mut verdicts = Vec::with_capacity(batch.len());
        for request in batch {
            if let Some(refused) = verdict(&moment, request)? {
                written.conflicts += u64::from(matches!(refused, Err(Error::Conflict { .. })));
                verdicts.push(refused);
                continue;
            }
            let events = &request.append.events;
            for (event, id) in events.iter().zip(request.ids.iter()) {
                let position = moment.add(keys(event.event_type(), event.tags()));
                inserter.insert(event, *id, position, recorded_at)?;
            }
            if let Some(tracking) = &request.append.tracking {
                inserter.track(tracking)?;
            }
            let first = moment.head.unsigned_abs() + 1 - events.len() as u64;
            if let Some(command) = &request.append.command {
                inserter.keep(command, first.cast_signed(), events.len())?;
            }
            let first = Position::new(first).unwrap_or(Position::FIRST);
            verdicts.push(Ok(Appended::contiguous(first, events.len())));
            written.appends += 1;
            written.events += events.len() as u64;
        }
        let run = move_slice(&moment, self.run.clone(), self.keys_in_memory)?;
        Ok(Applied {
            verdicts,
            written,
            moment,
            run,
        })
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
