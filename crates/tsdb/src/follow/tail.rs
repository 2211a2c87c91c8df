use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arrivals::Arrivals;
use super::files::{Files, Followed};
use super::memory::Memory;
use super::position::Position;
use super::reader::{Batch, Reader};
use super::series::SeriesTable;
use super::stored::Stored;
use crate::storage::{Storage, StorageFailure};
use crate::{Db, DbOptions, Durability, Error, OpenOptions};

/// Segments of a log that exists only for the sender. Memory is freed by whole segments.
const MEMORY_SEGMENT_BYTES: u64 = 1 << 20;

/// The time between two writes of the position that survive a power failure.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The end of a database's log, to forward the samples as they are written: pass it to
/// [`LogForwarder`](crate::wire::remote_write::LogForwarder).
///
/// The log keeps what is not sent yet, and the position is stored beside it. So forwarding resumes
/// after a restart where it was. Without an earlier position, it begins with the samples that are
/// written after the start.
pub struct LogTail {
    files: Arc<Files>,
    reader: Reader,
    arrivals: Arrivals,
    /// All samples before this are sent.
    confirmed: Position,
    /// The end of the batch that was under way when the process ended.
    repeat_until: Option<Position>,
    stored: Option<Stored>,
    synced: Option<Instant>,
    start: TailStart,
}

/// The place in the log at which forwarding begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailStart {
    /// With the samples that are written from now on.
    Now,
    /// The place at which an earlier process stopped.
    Resumed,
    /// With the samples that are written from now on, although there is a stored position: the log
    /// does not reach it. It was replaced, for example by an older copy.
    Replaced,
}

/// The part of the log that is not sent yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unsent {
    pub(crate) bytes: u64,
    /// The age of the oldest sample, rounded down.
    pub(crate) age: Duration,
}

impl std::fmt::Debug for LogTail {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LogTail")
            .field("confirmed", &self.confirmed)
            .finish_non_exhaustive()
    }
}

impl LogTail {
    /// Opens a database whose log is followed. Samples whose writes have returned reach the follower
    /// if the durability is [`Durability::WriteThrough`] or [`Durability::Commit`]; in the other
    /// modes, a process that is killed loses some of them with the log.
    ///
    /// The log keeps each segment that is not sent, also after a snapshot has replaced it, as a file
    /// named `unsent-…`.
    ///
    /// # Errors
    /// As [`Db::open_on`].
    pub fn open(storage: impl Storage, options: OpenOptions) -> Result<(Db, Self), Error> {
        Self::begin(Files::new(storage, false), options)
    }

    /// Creates a database in memory, with a log in memory for the follower. What is not sent yet is
    /// lost with the process.
    ///
    /// # Errors
    /// The operating system could not start a thread.
    pub fn in_memory(options: DbOptions) -> Result<(Db, Self), Error> {
        let options = OpenOptions {
            db: options,
            durability: Durability::WriteThrough { sync_every: None },
            segment_bytes: MEMORY_SEGMENT_BYTES,
            snapshot_after_bytes: None,
        };
        Self::begin(Files::new(Memory::default(), true), options)
    }

    fn begin(files: Files, options: OpenOptions) -> Result<(Db, Self), Error> {
        let files = Arc::new(files);
        let stored = Stored::load(&files)?;
        // Opening may remove segments already.
        files.need(stored.map_or(0, |stored| stored.confirmed.segment));
        let db = Db::open_on(Followed(Arc::clone(&files)), options, |_| {})?;
        let segments = files.segments()?;
        // The database has begun this segment just now.
        let newest = segments.last_key_value().map_or(1, |(number, _)| *number);
        let now = Position::start_of(newest);
        let (confirmed, start) = match stored {
            None => (now, TailStart::Now),
            Some(stored) if stored.confirmed > now => (now, TailStart::Replaced),
            Some(stored) => (stored.confirmed, TailStart::Resumed),
        };
        files.release_before(confirmed.segment)?;
        let series = SeriesTable::of(db.inner());
        let tail = Self {
            reader: Reader::new(Arc::clone(&files), series, confirmed),
            files,
            arrivals: Arrivals::new(Duration::ZERO),
            confirmed,
            repeat_until: stored
                .filter(|_| start == TailStart::Resumed)
                .map(|stored| stored.sending),
            stored,
            synced: None,
            start,
        };
        Ok((db, tail))
    }

    /// The place in the log at which forwarding begins.
    pub fn start(&self) -> TailStart {
        self.start
    }

    /// Whether the log is in memory, so that nothing of it survives the process.
    pub fn is_in_memory(&self) -> bool {
        self.files.is_temporary
    }

    /// Measures ages up to this.
    pub(crate) fn set_max_age(&mut self, max_age: Duration) {
        self.arrivals = Arrivals::new(max_age);
    }

    /// The next samples; none at the end of the log.
    pub(crate) fn next(&mut self, max: usize) -> Result<Batch, StorageFailure> {
        // A position that was not reached is in a part of the log that a power failure has cut off.
        let until = self.repeat_until.filter(|until| *until > self.confirmed);
        let batch = match until {
            // The request may have been larger than `max` now is.
            Some(until) => {
                let batch = self.reader.next(usize::MAX, Some(until));
                batch.map(|batch| Batch {
                    is_repeat: true,
                    ..batch
                })
            }
            None => self.reader.next(max, None),
        }?;
        if batch.is_empty() && until.is_some() {
            self.repeat_until = None;
            return self.reader.next(max, None);
        }
        self.repeat_until = None;
        Ok(batch)
    }

    /// Stores that the samples up to the end of this batch are being sent.
    pub(crate) fn note_sending(&mut self, batch: &Batch) -> Result<(), StorageFailure> {
        self.save(batch.end)
    }

    /// Notes that nothing of this batch has to be sent any more.
    pub(crate) fn confirm(&mut self, batch: &Batch) -> Result<(), StorageFailure> {
        let before = std::mem::replace(&mut self.confirmed, batch.end);
        if before.segment < self.confirmed.segment {
            // Stored first: the files must last until the position does without them.
            self.save(self.confirmed)?;
            self.files.release_before(self.confirmed.segment)?;
        }
        Ok(())
    }

    /// Stores the position after the last batch: no request has exactly the samples of the next one.
    pub(crate) fn rest(&mut self) -> Result<(), StorageFailure> {
        self.save(self.confirmed)
    }

    /// The part of the log that is not sent yet.
    pub(crate) fn unsent(&mut self, now: Instant) -> Result<Unsent, StorageFailure> {
        let segments = self.files.segments()?;
        let at = self.confirmed;
        let lengths: u64 = segments.range(at.segment..).map(|(_, length)| length).sum();
        if let Some((&segment, &length)) = segments.last_key_value() {
            self.arrivals.note(Position::at(segment, length), now);
        }
        Ok(Unsent {
            bytes: lengths.saturating_sub(at.offset),
            age: self.arrivals.age(at, now),
        })
    }

    fn save(&mut self, sending: Position) -> Result<(), StorageFailure> {
        let stored = Stored {
            confirmed: self.confirmed,
            sending,
        };
        if self.files.is_temporary || self.stored == Some(stored) {
            return Ok(());
        }
        let is_durable = self.synced.is_none_or(|at| at.elapsed() >= SYNC_EVERY);
        stored.save(&self.files, is_durable)?;
        if is_durable {
            self.synced = Some(Instant::now());
        }
        self.stored = Some(stored);
        Ok(())
    }
}
