//! The log as the engine sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use group_commit::{BlockingQueue, CommitBlocking, CommitError, Limits, SubmitError};
use parking_lot::{Mutex, MutexGuard};

use super::alarm::Alarm;
use super::entry::Entries;
use super::writer::{Buffers, Writer, WriterStart};
use crate::journal::{SeriesId, Ticket};
use crate::shard::SHARDS;
use crate::storage::{Storage, StorageFailure};
use crate::{Durability, Error, Labels, Metadata, OpenOptions, Sample};

/// The buffer of what belongs to no shard.
const METADATA: usize = SHARDS;

/// A buffer of this size is brought to the file early.
const WAKE_BYTES: usize = 512 << 10;

/// The caller who fills a buffer to this size waits for the file: the log's memory is bounded.
const FULL_BYTES: usize = 4 << 20;

/// How often a log that failed tries again.
const RETRY: Duration = Duration::from_millis(100);

/// How often the log is handed to the operating system when nobody asked for more.
const UNSYNCED_INTERVAL: Duration = Duration::from_secs(1);

/// Whether the log takes writes.
mod state {
    pub(super) const WORKING: u8 = 0;
    /// The last flush failed: writes are refused until one succeeds.
    pub(super) const FAILING: u8 = 1;
    pub(super) const CLOSED: u8 = 2;
}

/// What a ticket asks for.
mod demand {
    use super::Ticket;

    pub(super) const NOTHING: Ticket = Ticket(0);
    pub(super) const WAKE: Ticket = Ticket(1);
    pub(super) const FLUSH: Ticket = Ticket(2);
}

/// Where accepted writes are written down.
///
/// Locks are taken in this order: the writer's, a shard's, a series', a buffer's. So a call under a
/// series' lock may log, but not flush.
pub(crate) struct Log {
    core: Arc<Core>,
    /// In the mode where each caller waits.
    commits: Option<BlockingQueue<Flusher>>,
}

struct Core {
    buffers: Box<[Mutex<Entries>]>,
    state: AtomicU8,
    /// Why the state is `FAILING`.
    failure: Mutex<Option<StorageFailure>>,
    writer: Mutex<Writer>,
    durability: Durability,
    /// Wakes the thread that flushes.
    flushes: Alarm,
    /// Wakes the thread that takes snapshots.
    snapshots: Alarm,
}

impl Log {
    /// A log that goes on after what `start` says.
    pub(crate) fn begin(
        storage: Arc<dyn Storage>,
        start: &WriterStart,
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        let durability = options.durability;
        let writer = Writer::new(storage, start, options)?;
        let core = Arc::new(Core {
            buffers: (0..=METADATA).map(|_| Mutex::default()).collect(),
            state: AtomicU8::new(state::WORKING),
            failure: Mutex::default(),
            writer: Mutex::new(writer),
            durability,
            flushes: Alarm::default(),
            snapshots: Alarm::default(),
        });
        let commits = (durability == Durability::Commit)
            .then(|| BlockingQueue::new(Flusher(Arc::clone(&core)), Limits::default()));
        Ok(Self { core, commits })
    }

    /// A series begins. Its first samples follow under the same lock.
    pub(crate) fn begin_series(
        &self,
        shard: usize,
        id: SeriesId,
        labels: &Labels,
    ) -> Result<(), Error> {
        self.core.accept(shard)?.begin(id, labels);
        Ok(())
    }

    /// Samples of one series, in the order of arrival.
    #[inline]
    pub(crate) fn samples(
        &self,
        shard: usize,
        id: SeriesId,
        samples: &[Sample],
    ) -> Result<Ticket, Error> {
        let mut buffer = self.core.accept(shard)?;
        let before = buffer.len();
        buffer.samples(id, samples);
        Ok(ticket(before, buffer.len()))
    }

    /// One sample of a series.
    #[inline]
    pub(crate) fn sample(
        &self,
        shard: usize,
        id: SeriesId,
        sample: Sample,
    ) -> Result<Ticket, Error> {
        let mut buffer = self.core.accept(shard)?;
        let before = buffer.len();
        buffer.sample(id, sample);
        Ok(ticket(before, buffer.len()))
    }

    /// The samples of one series from `from_ms` to `to_ms`, both included, are deleted.
    pub(crate) fn delete(
        &self,
        shard: usize,
        id: SeriesId,
        from_ms: i64,
        to_ms: i64,
    ) -> Result<Ticket, Error> {
        self.core.accept(shard)?.delete(id, from_ms, to_ms);
        Ok(demand::NOTHING)
    }

    /// A series has ended: no sample is left. Its id isn't used again.
    ///
    /// Taken while the log is failing too, for it can't be refused.
    pub(crate) fn end(&self, shard: usize, id: SeriesId) {
        let mut buffer = self.core.buffers[shard].lock();
        if self.core.state.load(Ordering::SeqCst) != state::CLOSED {
            buffer.end(id);
        }
    }

    /// A metric's metadata; under the lock of the metadata, not of a shard.
    pub(crate) fn metadata(&self, metric: &str, metadata: &Metadata) -> Result<Ticket, Error> {
        let mut buffer = self.core.accept(METADATA)?;
        let before = buffer.len();
        buffer.metadata(metric, metadata);
        Ok(ticket(before, buffer.len()))
    }

    /// Returns when what the ticket stands for is as durable as the mode promises; called without
    /// any lock.
    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket) -> Result<(), Error> {
        if let Some(commits) = &self.commits {
            return commits.submit(()).map_err(not_durable);
        }
        if ticket == demand::WAKE {
            self.core.flushes.wake();
        } else if ticket == demand::FLUSH {
            // A failure refuses the next write; this one is logged, and will be written.
            let _ = self.core.flush();
        }
        Ok(())
    }

    /// Makes all durable that was logged before, whatever the mode.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        Ok(self.core.write(Writer::flush_durably)?)
    }

    /// Ends the log: later writes are refused, all before are durable.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.core.state.store(state::CLOSED, Ordering::SeqCst);
        let mut writer = self.core.writer.lock();
        Ok(writer.close(&self.core.buffers)?)
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.core.writer.lock().storage())
    }

    /// Holds all flushes, to find the place in the log that a snapshot stands for.
    pub(crate) fn cut(&self) -> Cut<'_> {
        Cut {
            core: &self.core,
            writer: self.core.writer.lock(),
        }
    }

    /// Notes how a snapshot ended that stands in for `log_bytes` of the log.
    pub(crate) fn note_snapshot(&self, log_bytes: u64, succeeded: bool) {
        let mut writer = self.core.writer.lock();
        writer.note_snapshot(log_bytes, succeeded);
    }

    /// Flushes as often as the mode says, until [`Log::stop`].
    pub(crate) fn run_flushes(&self) {
        while self.core.flushes.wait(self.core.interval()) {
            // The failure is kept in the state.
            let _ = self.core.flush();
        }
    }

    /// Calls `snapshot` whenever one is due, until [`Log::stop`].
    pub(crate) fn run_snapshots(&self, snapshot: impl Fn()) {
        while self.core.snapshots.wait(None) {
            // While one was taken, each flush has asked for it again.
            if self.core.writer.lock().is_snapshot_due() {
                snapshot();
            }
        }
    }

    /// Ends what runs.
    pub(crate) fn stop(&self) {
        self.core.flushes.stop();
        self.core.snapshots.stop();
    }
}

impl Core {
    /// The buffer of a shard, if the log takes writes.
    ///
    /// The state is read under the buffer's lock: a writer that close doesn't stop has logged
    /// before close collects.
    #[inline]
    fn accept(&self, shard: usize) -> Result<MutexGuard<'_, Entries>, Error> {
        let buffer = self.buffers[shard].lock();
        match self.state.load(Ordering::SeqCst) {
            state::WORKING => Ok(buffer),
            _ => Err(self.refusal()),
        }
    }

    #[cold]
    fn refusal(&self) -> Error {
        if self.state.load(Ordering::SeqCst) == state::CLOSED {
            return Error::Closed;
        }
        let failure = self.failure.lock().clone();
        failure.map_or(Error::Closed, Error::from)
    }

    fn flush(&self) -> Result<(), StorageFailure> {
        self.write(Writer::flush)
    }

    fn write(
        &self,
        flush: impl FnOnce(&mut Writer, &Buffers) -> Result<(), StorageFailure>,
    ) -> Result<(), StorageFailure> {
        let mut writer = self.writer.lock();
        let flushed = flush(&mut writer, &self.buffers);
        if writer.is_snapshot_due() {
            self.snapshots.wake();
        }
        drop(writer);
        self.note(&flushed);
        flushed
    }

    fn note(&self, flushed: &Result<(), StorageFailure>) {
        let (from, to) = match flushed {
            Ok(()) => (state::FAILING, state::WORKING),
            Err(failure) => {
                *self.failure.lock() = Some(failure.clone());
                (state::WORKING, state::FAILING)
            }
        };
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        if changed.is_ok() && to == state::FAILING {
            self.flushes.wake();
        }
    }

    /// How long the background waits; `None` for as long as nobody wakes it.
    fn interval(&self) -> Option<Duration> {
        if self.state.load(Ordering::SeqCst) == state::FAILING {
            return Some(RETRY);
        }
        match self.durability {
            Durability::Unsynced => Some(UNSYNCED_INTERVAL),
            Durability::Periodic(interval) => Some(interval),
            Durability::Commit => None,
        }
    }
}

/// A place in the log, while it is sought.
pub(crate) struct Cut<'a> {
    core: &'a Core,
    writer: MutexGuard<'a, Writer>,
}

impl Cut<'_> {
    /// What the shard has logged until now is before the cut; called under the locks of the shard and
    /// of all its series.
    pub(crate) fn collect(&mut self, shard: usize) {
        self.writer.collect(&self.core.buffers[shard]);
    }

    /// The same for the metadata, under their lock.
    pub(crate) fn collect_metadata(&mut self) {
        self.collect(METADATA);
    }

    /// Makes durable what was collected. Returns the number of the segment after the cut, and how
    /// many bytes are before it. A failure is noted as the snapshot's.
    pub(crate) fn finish(mut self) -> Result<(u64, u64), StorageFailure> {
        let cut = self.writer.cut();
        let log_bytes = self.writer.written_bytes();
        if cut.is_err() {
            self.writer.note_snapshot(0, false);
        }
        drop(self.writer);
        self.core
            .note(&cut.as_ref().map(drop).map_err(Clone::clone));
        cut.map(|number| (number, log_bytes))
    }
}

/// Syncs once for all callers that wait.
struct Flusher(Arc<Core>);

impl CommitBlocking for Flusher {
    type Request = ();
    type Verdict = ();
    type Error = StorageFailure;

    fn size_bytes(&self, (): &()) -> usize {
        1
    }

    fn commit(&self, batch: &mut [()]) -> Result<Vec<()>, CommitError<StorageFailure>> {
        match self.0.flush() {
            Ok(()) => Ok(batch.to_vec()),
            Err(failure) => Err(CommitError::Failed(failure)),
        }
    }
}

fn not_durable(error: SubmitError<StorageFailure>) -> Error {
    Error::NotDurable(match error {
        SubmitError::Refused(failure)
        | SubmitError::Failed(failure)
        | SubmitError::Unknown(failure) => failure,
        other => StorageFailure::new("commit to", "the log", std::io::Error::other(other)),
    })
}

/// What a buffer demands that has grown from one length to another.
#[inline]
fn ticket(before: usize, after: usize) -> Ticket {
    if after < WAKE_BYTES {
        demand::NOTHING
    } else if after >= FULL_BYTES {
        demand::FLUSH
    } else if before < WAKE_BYTES {
        demand::WAKE
    } else {
        demand::NOTHING
    }
}
