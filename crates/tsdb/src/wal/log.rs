//! The interface of the log to the engine.
//!
//! Each shard has a buffer. A write logs into the buffer of its shard under the lock of its series.
//! A flush later collects all buffers into one frame.
//!
//! Invariants:
//! - Locks are taken in the order writer, shard, series, buffer. So a call under a series' lock may
//!   log, but must not flush. `tests/it/snapshot.rs` deadlocks with another order.
//! - A log whose last flush failed refuses new writes. It keeps the writes accepted before until a
//!   flush succeeds. `tests/it/wal/full_disk.rs` fails without this.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use group_commit::{BlockingQueue, CommitBlocking, CommitError, Limits, SubmitError};
use parking_lot::{Mutex, MutexGuard};

use super::alarm::Alarm;
use super::degraded::Degraded;
use super::entry::Entries;
use super::writer::{Buffers, Writer, WriterStart};
use crate::journal::{FlushDemand, SeriesId};
use crate::key::SHARDS;
use crate::meters::LogMeters;
use crate::storage::{Storage, StorageFailure};
use crate::{Durability, Error, Labels, Metadata, OpenOptions, Sample};

/// The index of the buffer for metadata, which follows the buffers of the shards.
const METADATA: usize = SHARDS;

/// A buffer of this size wakes the flush thread early.
const WAKE_BYTES: usize = 512 << 10;

/// A writer that fills a buffer to this size flushes the log itself. This bounds the memory of the
/// log.
const FULL_BYTES: usize = 4 << 20;

/// The interval of retries after a failed flush.
const RETRY: Duration = Duration::from_millis(100);

/// The flush interval with [`Durability::Unsynced`].
const UNSYNCED_INTERVAL: Duration = Duration::from_secs(1);

/// The states of the log.
mod state {
    pub(super) const WORKING: u8 = 0;
    /// The last flush failed. The log refuses writes until a flush succeeds.
    pub(super) const FAILING: u8 = 1;
    pub(super) const CLOSED: u8 = 2;
}

/// The demands on a writer, in ascending order.
mod demand {
    use super::FlushDemand;

    pub(super) const NOTHING: FlushDemand = FlushDemand(0);
    /// Wake the flush thread.
    pub(super) const WAKE: FlushDemand = FlushDemand(1);
    /// Flush before returning.
    pub(super) const FLUSH: FlushDemand = FlushDemand(2);
}

/// The log of a database.
pub(crate) struct Log {
    core: Arc<Core>,
    /// Groups the callers that wait for a flush. `None` in the modes whose calls don't.
    commits: Option<BlockingQueue<Flusher>>,
}

struct Core {
    buffers: Box<[Mutex<Entries>]>,
    state: AtomicU8,
    /// The reason for the state `FAILING`.
    failure: Mutex<Option<StorageFailure>>,
    degraded: Degraded,
    writer: Mutex<Writer>,
    durability: Durability,
    /// Wakes the flush thread.
    flushes: Alarm,
    /// Wakes the snapshot thread.
    snapshots: Alarm,
}

impl Log {
    /// Begins a log that continues from `start`.
    pub(crate) fn begin(
        storage: Arc<dyn Storage>,
        start: &WriterStart,
        options: &OpenOptions,
        meters: LogMeters,
    ) -> Result<Self, Error> {
        let durability = options.durability;
        let writer = Writer::new(storage, start, options, meters)?;
        let core = Arc::new(Core {
            buffers: (0..=METADATA).map(|_| Mutex::default()).collect(),
            state: AtomicU8::new(state::WORKING),
            failure: Mutex::default(),
            degraded: Degraded::default(),
            writer: Mutex::new(writer),
            durability,
            flushes: Alarm::default(),
            snapshots: Alarm::default(),
        });
        let waits = matches!(
            durability,
            Durability::WriteThrough { .. } | Durability::Commit
        );
        let commits =
            waits.then(|| BlockingQueue::new(Flusher(Arc::clone(&core)), Limits::default()));
        Ok(Self { core, commits })
    }

    /// Logs the beginning of a series. The caller logs its first samples under the same lock.
    pub(crate) fn begin_series(
        &self,
        shard: usize,
        id: SeriesId,
        labels: &Labels,
    ) -> Result<(), Error> {
        self.core.accept(shard)?.begin(id, labels);
        Ok(())
    }

    /// Logs samples of one series, in order of arrival.
    #[inline]
    pub(crate) fn samples(
        &self,
        shard: usize,
        id: SeriesId,
        samples: &[Sample],
    ) -> Result<FlushDemand, Error> {
        let mut buffer = self.core.accept(shard)?;
        let before = buffer.len();
        buffer.samples(id, samples);
        Ok(flush_demand(before, buffer.len()))
    }

    /// Logs one sample of a series.
    #[inline]
    pub(crate) fn sample(
        &self,
        shard: usize,
        id: SeriesId,
        sample: Sample,
    ) -> Result<FlushDemand, Error> {
        let mut buffer = self.core.accept(shard)?;
        let before = buffer.len();
        buffer.sample(id, sample);
        Ok(flush_demand(before, buffer.len()))
    }

    /// Logs the deletion of samples from `from_ms` to `to_ms`, both inclusive.
    pub(crate) fn delete(
        &self,
        shard: usize,
        id: SeriesId,
        from_ms: i64,
        to_ms: i64,
    ) -> Result<FlushDemand, Error> {
        self.core.accept(shard)?.delete(id, from_ms, to_ms);
        Ok(demand::NOTHING)
    }

    /// Logs the end of a series. Its id must not be used again.
    pub(crate) fn end(&self, shard: usize, id: SeriesId) {
        // `accept` refuses writes while the log is failing, but the end of a series can't be
        // refused.
        let mut buffer = self.core.buffers[shard].lock();
        if self.core.state.load(Ordering::SeqCst) != state::CLOSED {
            buffer.end(id);
        }
    }

    /// Logs the metadata of a metric. Called under the lock of the metadata.
    pub(crate) fn metadata(&self, metric: &str, metadata: &Metadata) -> Result<FlushDemand, Error> {
        let mut buffer = self.core.accept(METADATA)?;
        let before = buffer.len();
        buffer.metadata(metric, metadata);
        Ok(flush_demand(before, buffer.len()))
    }

    /// Finishes a logged write as the durability mode promises. The caller must hold no lock,
    /// because this may flush.
    #[inline]
    pub(crate) fn settle(&self, demand: FlushDemand) -> Result<(), Error> {
        if let Some(commits) = &self.commits {
            // The commit flushes all buffers, so it also does what `demand` asks for.
            return commits.submit(()).map_err(not_durable);
        }
        if demand == demand::WAKE {
            self.core.flushes.wake();
        } else if demand == demand::FLUSH {
            // Ignore a failure: this write is logged, and a retry will write it. The next write is
            // refused.
            let _ = self.core.flush();
        }
        Ok(())
    }

    /// Makes all logged entries durable, in any mode.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        Ok(self.core.write(Writer::flush_durably)?)
    }

    /// Refuses later writes, and makes all earlier ones durable.
    pub(crate) fn close(&self) -> Result<(), Error> {
        // Store the state before the buffers are collected: `accept` relies on this order.
        self.core.state.store(state::CLOSED, Ordering::SeqCst);
        let mut writer = self.core.writer.lock();
        Ok(writer.close(&self.core.buffers)?)
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.core.writer.lock().storage())
    }

    /// Starts a cut of the log for a snapshot. Flushes wait until the cut is finished.
    pub(crate) fn cut(&self) -> Cut<'_> {
        Cut {
            core: &self.core,
            writer: self.core.writer.lock(),
        }
    }

    /// Records the outcome of a snapshot that replaces `log_bytes` of the log.
    pub(crate) fn note_snapshot(&self, log_bytes: u64, succeeded: bool) {
        let mut writer = self.core.writer.lock();
        writer.note_snapshot(log_bytes, succeeded);
    }

    /// Flushes at the interval of the durability mode, until [`Log::stop`].
    pub(crate) fn run_flushes(&self) {
        while self.core.flushes.wait(self.core.interval()) {
            // Ignore a failure: it is recorded in the state, and then the next wait is `RETRY`.
            let _ = self.core.flush_in_background();
        }
    }

    /// Calls `snapshot` whenever one is due, until [`Log::stop`].
    pub(crate) fn run_snapshots(&self, snapshot: impl Fn()) {
        while self.core.snapshots.wait(None) {
            // Flushes during the last snapshot may have woken this thread, although no other
            // snapshot is due.
            if self.core.writer.lock().is_snapshot_due() {
                snapshot();
            }
        }
    }

    /// Ends `run_flushes` and `run_snapshots`.
    pub(crate) fn stop(&self) {
        self.core.flushes.stop();
        self.core.snapshots.stop();
    }
}

impl Core {
    /// Locks the buffer of a shard, unless the log refuses writes.
    #[inline]
    fn accept(&self, shard: usize) -> Result<MutexGuard<'_, Entries>, Error> {
        // Read the state under the buffer's lock. Then either this write sees that the log is
        // closed, or `close` collects the buffer after this write.
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
        // `note` stores the failure before the state, so `failure` is set here.
        let failure = self.failure.lock().clone();
        failure.map_or(Error::Closed, Error::from)
    }

    fn flush(&self) -> Result<(), StorageFailure> {
        self.write(Writer::flush)
    }

    fn flush_in_background(&self) -> Result<(), StorageFailure> {
        let Durability::WriteThrough {
            sync_every: Some(_),
        } = self.durability
        else {
            return self.flush();
        };
        // Sync without the writer's lock, so that calls can write in the meantime.
        let Some(unsynced) = self.write(Writer::flush_for_sync)? else {
            return Ok(());
        };
        let synced = unsynced.sync();
        self.write(|writer, _| writer.note_sync(&unsynced, synced))
    }

    fn write<T>(
        &self,
        flush: impl FnOnce(&mut Writer, &Buffers) -> Result<T, StorageFailure>,
    ) -> Result<T, StorageFailure> {
        let mut writer = self.writer.lock();
        let flushed = flush(&mut writer, &self.buffers);
        if writer.is_snapshot_due() {
            self.snapshots.wake();
        }
        drop(writer);
        self.note(flushed.as_ref().err());
        flushed
    }

    /// Sets the state to `WORKING` or `FAILING` after a flush.
    fn note(&self, failure: Option<&StorageFailure>) {
        let (from, to) = match failure {
            None => (state::FAILING, state::WORKING),
            Some(failure) => {
                *self.failure.lock() = Some(failure.clone());
                (state::WORKING, state::FAILING)
            }
        };
        // Use `compare_exchange`, because `CLOSED` must stay.
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        match failure.filter(|_| changed.is_ok()) {
            Some(failure) => {
                self.degraded.begins(failure);
                // The flush thread must switch from its interval to the retry interval.
                self.flushes.wake();
            }
            None if changed.is_ok() => self.degraded.ends(),
            None => {}
        }
    }

    /// Returns how long the flush thread waits. `None` means until it is woken.
    fn interval(&self) -> Option<Duration> {
        if self.state.load(Ordering::SeqCst) == state::FAILING {
            return Some(RETRY);
        }
        match self.durability {
            Durability::Unsynced => Some(UNSYNCED_INTERVAL),
            Durability::Periodic(interval) => Some(interval),
            Durability::WriteThrough { sync_every } => sync_every,
            Durability::Commit => None,
        }
    }
}

/// An unfinished cut of the log. The cut separates the entries that a snapshot replaces from those
/// that follow the snapshot.
pub(crate) struct Cut<'a> {
    core: &'a Core,
    writer: MutexGuard<'a, Writer>,
}

impl Cut<'_> {
    /// Collects all entries that the shard has logged so far. They come before the cut. Called
    /// under the locks of the shard and of all its series.
    pub(crate) fn collect(&mut self, shard: usize) {
        self.writer.collect(&self.core.buffers[shard]);
    }

    /// Collects the entries for metadata. Called under the lock of the metadata.
    pub(crate) fn collect_metadata(&mut self) {
        self.collect(METADATA);
    }

    /// Makes the collected entries durable. Returns the number of the segment after the cut, and
    /// the number of bytes before it. A failure counts as a failed snapshot.
    pub(crate) fn finish(mut self) -> Result<(u64, u64), StorageFailure> {
        let cut = self.writer.cut();
        let log_bytes = self.writer.written_bytes();
        if cut.is_err() {
            self.writer.note_snapshot(0, false);
        }
        // `note` may wake the flush thread, which needs the writer.
        drop(self.writer);
        self.core.note(cut.as_ref().err());
        cut.map(|number| (number, log_bytes))
    }
}

/// Flushes once for all waiting callers. The requests carry nothing, because the entries
/// are in the buffers already.
struct Flusher(Arc<Core>);

impl CommitBlocking for Flusher {
    type Request = ();
    type Verdict = ();
    type Error = StorageFailure;

    fn size_bytes(&self, (): &()) -> usize {
        // The queue limits the bytes of a batch. A size of 1 limits the number of callers instead.
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

/// Returns the demand of a buffer that has grown from `before` to `after` bytes.
#[inline]
fn flush_demand(before: usize, after: usize) -> FlushDemand {
    if after < WAKE_BYTES {
        demand::NOTHING
    } else if after >= FULL_BYTES {
        demand::FLUSH
    } else if before < WAKE_BYTES {
        // Only the write that crosses the threshold wakes the thread.
        demand::WAKE
    } else {
        demand::NOTHING
    }
}
