//! Writes the buffers of the shards into segments.
//!
//! Invariant: each frame is valid in exactly one file. After a failed write or sync, the frame goes
//! into a new segment, and the header of that segment excludes the frame from the previous one.
//! `tests/it/wal/full_disk.rs` fails if the frame is valid in both.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use super::entry::Entries;
use super::frames::Frames;
use super::header::FrameHeader;
use super::segment::{Segment, SegmentFile};
use crate::meters::LogMeters;
use crate::storage::{Storage, StorageFailure};
use crate::{Durability, OpenOptions};

/// The capacity that an empty buffer keeps.
const KEPT_BYTES: usize = 1 << 20;

/// The buffers of all shards, and one for metadata.
pub(super) type Buffers = [Mutex<Entries>];

/// Writes the files of the log. Each log has one writer, behind a lock.
pub(crate) struct Writer {
    storage: Arc<dyn Storage>,
    meters: LogMeters,
    /// `None` after a failure, and after a full segment has ended.
    segment: Option<Segment>,
    next_number: u64,
    /// The valid length of the segment before `next_number`.
    previous_end: u64,
    /// Whether [`Writer::flush`] syncs.
    syncs: bool,
    segment_bytes: u64,
    /// Room for a header, then the entries that are not written yet, or whose write or sync failed.
    frame: Vec<u8>,
    /// An empty buffer to swap with a shard's.
    spare: Entries,
    /// Set if a sync failed and its entries could not be read back. Then only a snapshot can make
    /// them durable.
    lost: Option<StorageFailure>,
    /// The bytes written since the last snapshot.
    written_bytes: u64,
    /// The value of `written_bytes` at which a snapshot is due.
    snapshot_at_bytes: Option<u64>,
    /// The growth of the log after which a snapshot is due, or a failed one is retried.
    snapshot_after_bytes: Option<u64>,
    /// Whether the closing entry is in `frame` or in the file.
    closed: bool,
}

/// The state of the log from which a new writer continues.
pub(crate) struct WriterStart {
    /// The number of the first new segment.
    pub(crate) number: u64,
    /// The valid length of the segment before `number`.
    pub(crate) previous_end: u64,
    /// The length of the existing log, in bytes.
    pub(crate) log_bytes: u64,
}

/// Bytes of a segment that are written, but not durable.
pub(super) struct Unsynced {
    file: Arc<SegmentFile>,
    end: u64,
    meters: LogMeters,
}

impl Unsynced {
    fn of(segment: &Segment, meters: &LogMeters) -> Self {
        Self {
            file: Arc::clone(segment.file()),
            end: segment.end(),
            meters: meters.clone(),
        }
    }

    /// Makes the bytes durable. Needs no lock of the writer.
    pub(super) fn sync(&self) -> Result<(), StorageFailure> {
        self.meters.sync(|| self.file.sync())
    }
}

impl Writer {
    /// Creates a writer and its first segment.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        start: &WriterStart,
        options: &OpenOptions,
        meters: LogMeters,
    ) -> Result<Self, StorageFailure> {
        let segment = Segment::begin(&*storage, start.number, start.previous_end)?;
        Ok(Self {
            storage,
            meters,
            segment: Some(segment),
            next_number: start.number + 1,
            // This is set when the first segment ends.
            previous_end: 0,
            syncs: matches!(
                options.durability,
                Durability::Periodic(_) | Durability::Commit
            ),
            segment_bytes: options.segment_bytes,
            frame: vec![0; FrameHeader::LENGTH],
            spare: Entries::default(),
            lost: None,
            written_bytes: start.log_bytes,
            snapshot_at_bytes: options.snapshot_after_bytes,
            snapshot_after_bytes: options.snapshot_after_bytes,
            closed: false,
        })
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns the bytes written since the last snapshot.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Moves the entries of `buffer` into the next frame.
    pub(super) fn collect(&mut self, buffer: &Mutex<Entries>) {
        // Swap, so that writers of the shard don't wait for the copy.
        mem::swap(&mut *buffer.lock(), &mut self.spare);
        if !self.spare.is_empty() {
            self.frame.extend_from_slice(self.spare.as_bytes());
            self.spare.clear(KEPT_BYTES);
        }
    }

    /// Writes all logged entries, and syncs them if the mode requires it.
    ///
    /// A failure loses nothing: the next flush retries, in a new segment.
    pub(super) fn flush(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        buffers.iter().for_each(|buffer| self.collect(buffer));
        self.write_frame(self.syncs)
    }

    /// Writes and syncs all logged entries, in any mode.
    pub(super) fn flush_durably(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        self.flush(buffers)?;
        self.sync()
    }

    /// Writes all logged entries. Returns the bytes that a background sync should make durable.
    pub(super) fn flush_for_sync(
        &mut self,
        buffers: &Buffers,
    ) -> Result<Option<Unsynced>, StorageFailure> {
        self.flush(buffers)?;
        let unsynced = |segment: &&Segment| segment.durable() < segment.end();
        let segment = self.segment.as_ref().filter(unsynced);
        Ok(segment.map(|segment| Unsynced::of(segment, &self.meters)))
    }

    /// Records the outcome of a background sync.
    pub(super) fn note_sync(
        &mut self,
        unsynced: &Unsynced,
        synced: Result<(), StorageFailure>,
    ) -> Result<(), StorageFailure> {
        let same = |segment: &mut Segment| Arc::ptr_eq(segment.file(), &unsynced.file);
        let Some(mut segment) = self.segment.take_if(same) else {
            // The segment has ended in the meantime. Its end has synced it, or has met the same
            // failure.
            return Ok(());
        };
        if let Err(failure) = synced {
            self.give_up(&segment, segment.end(), &failure);
            return Err(failure);
        }
        segment.note_synced(unsynced.end);
        self.segment = Some(segment);
        Ok(())
    }

    fn write_frame(&mut self, sync: bool) -> Result<(), StorageFailure> {
        if self.frame.len() == FrameHeader::LENGTH {
            // Nothing was logged. A frame without entries would be invalid.
            return Ok(());
        }
        let mut segment = match self.segment.take() {
            Some(segment) => segment,
            None => self.begin_segment()?,
        };
        let before = segment.end();
        if let Err(failure) = segment.append(&mut self.frame) {
            // A retry must not append after a partial frame, so end the segment here. If that fails
            // too, report the first failure.
            let _ = self.retire(segment);
            return Err(failure);
        }
        self.meters.wrote(self.frame.len());
        if sync && let Err(failure) = self.meters.sync(|| segment.sync()) {
            self.give_up(&segment, before, &failure);
            return Err(failure);
        }
        // The write and the sync have succeeded, so drop the frame.
        self.written_bytes += self.frame.len() as u64;
        self.frame.truncate(FrameHeader::LENGTH);
        self.frame.shrink_to(KEPT_BYTES);
        if segment.end() < self.segment_bytes {
            self.segment = Some(segment);
            Ok(())
        } else {
            self.retire(segment)
        }
    }

    fn begin_segment(&mut self) -> Result<Segment, StorageFailure> {
        let segment = Segment::begin(&*self.storage, self.next_number, self.previous_end)?;
        // Increment only after success: the numbers must have no gap, and a retry replaces the
        // file.
        self.next_number += 1;
        Ok(segment)
    }

    /// Makes a segment durable and ends it.
    fn retire(&mut self, mut segment: Segment) -> Result<(), StorageFailure> {
        // The next header declares these bytes valid, so a crash must not lose them.
        self.confirm(&mut segment)?;
        self.previous_end = segment.durable();
        Ok(())
    }

    /// Makes a segment durable. If that fails, this ends the segment, and the caller must drop it.
    fn confirm(&mut self, segment: &mut Segment) -> Result<(), StorageFailure> {
        if segment.durable() < segment.end()
            && let Err(failure) = self.meters.sync(|| segment.sync())
        {
            self.give_up(segment, segment.end(), &failure);
            return Err(failure);
        }
        Ok(())
    }

    /// Ends a segment after a failed sync. Its bytes that are not durable become invalid. This
    /// reads their entries up to `end` back into `frame`, to be written again. If that fails, they
    /// are lost.
    ///
    /// A second sync does not help: the operating system may have dropped the bytes after the first
    /// error, and then the second sync succeeds without them.
    fn give_up(&mut self, segment: &Segment, end: u64, failure: &StorageFailure) {
        self.previous_end = segment.durable();
        match self.unsynced(segment, end) {
            Some(entries) => {
                // Insert them at the front: they are older than the entries in `frame`.
                let front = FrameHeader::LENGTH..FrameHeader::LENGTH;
                self.frame.splice(front, entries);
            }
            None => self.lost = Some(failure.clone()),
        }
    }

    /// Reads back the entries of a segment up to `end` that no sync has confirmed.
    fn unsynced(&self, segment: &Segment, end: u64) -> Option<Vec<u8>> {
        let mut entries = Vec::new();
        if segment.durable() == end {
            return Some(entries);
        }
        let mut bytes = Vec::new();
        self.storage.read(segment.name(), &mut bytes).ok()?;
        let frames = Frames {
            name: segment.name(),
            number: segment.number(),
            bytes: &bytes,
        };
        let mut offset = segment.durable() as usize;
        while (offset as u64) < end {
            let frame = frames.entries_at(offset)?;
            entries.extend_from_slice(frame);
            offset = frames.end_of_frame(offset, frame);
        }
        Some(entries)
    }

    /// Makes the collected entries durable and begins a new segment. Returns its number. Entries
    /// logged later go into this segment or a later one.
    pub(super) fn cut(&mut self) -> Result<u64, StorageFailure> {
        self.write_frame(true)?;
        if let Some(segment) = self.segment.take() {
            self.retire(segment)?;
        }
        let segment = self.begin_segment()?;
        let number = segment.number();
        self.segment = Some(segment);
        // If the log has a closing entry, the snapshot replaces it, and `close` must write another.
        self.closed = false;
        Ok(number)
    }

    /// Records the outcome of a snapshot that replaces the first `log_bytes` of the log.
    pub(super) fn note_snapshot(&mut self, log_bytes: u64, succeeded: bool) {
        if succeeded {
            self.written_bytes -= log_bytes;
            // The snapshot contains the lost entries.
            self.lost = None;
        }
        let after = self.snapshot_after_bytes;
        self.snapshot_at_bytes = after.map(|after| match succeeded {
            true => after,
            false => self.written_bytes.saturating_add(after),
        });
    }

    pub(super) fn is_snapshot_due(&self) -> bool {
        self.snapshot_at_bytes
            .is_some_and(|threshold| self.written_bytes >= threshold)
    }

    /// Writes and syncs all entries, and the closing entry after them. May be called again, after a
    /// failure and after success.
    pub(super) fn close(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        self.flush_durably(buffers)?;
        if !self.closed {
            let mut last = Entries::default();
            last.closed();
            self.frame.extend_from_slice(last.as_bytes());
            // Set this before the write: if the write fails, the entry stays in `frame`, and must
            // not be added again.
            self.closed = true;
            self.write_frame(true)?;
        }
        Ok(())
    }

    /// Makes entries durable that were written without a sync.
    fn sync(&mut self) -> Result<(), StorageFailure> {
        if let Some(mut segment) = self.segment.take() {
            self.confirm(&mut segment)?;
            self.segment = Some(segment);
        }
        match &self.lost {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }
}
