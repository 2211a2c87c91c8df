//! Brings what the shards have logged into the files.

use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use super::entry::Entries;
use super::frames::Frames;
use super::header::FrameHeader;
use super::segment::Segment;
use crate::storage::{Storage, StorageFailure};
use crate::{Durability, OpenOptions};

/// The memory that each buffer keeps while it is empty.
const KEPT_BYTES: usize = 1 << 20;

/// Where the shards log; the writer takes from each what it holds.
pub(super) type Buffers = [Mutex<Entries>];

/// The one that writes files; under one lock.
pub(crate) struct Writer {
    storage: Arc<dyn Storage>,
    /// `None` at first, after a failure, and when the last was full.
    segment: Option<Segment>,
    next_number: u64,
    /// How many bytes count of the segment before `next_number`.
    previous_end: u64,
    /// Whether a flush syncs.
    syncs: bool,
    segment_bytes: u64,
    /// What isn't written yet, or was written and could not be synced, behind room for a header.
    frame: Vec<u8>,
    /// Takes the place of a shard's buffer while that is emptied.
    spare: Entries,
    /// Why something that was written, but not synced, is gone from the files.
    lost: Option<StorageFailure>,
    /// How many bytes were written since the last snapshot.
    written_bytes: u64,
    /// When a snapshot is due, and by how much one that failed is put off.
    snapshot_at_bytes: Option<u64>,
    snapshot_after_bytes: Option<u64>,
    /// Whether the last of all was logged.
    closed: bool,
}

/// Where a new writer begins.
pub(crate) struct WriterStart {
    /// The number of the first segment.
    pub(crate) number: u64,
    /// How many bytes count of the segment before.
    pub(crate) previous_end: u64,
    /// How many bytes the log has already.
    pub(crate) log_bytes: u64,
}

impl Writer {
    /// Begins the first segment.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        start: &WriterStart,
        options: &OpenOptions,
    ) -> Result<Self, StorageFailure> {
        let segment = Segment::begin(&*storage, start.number, start.previous_end)?;
        Ok(Self {
            storage,
            segment: Some(segment),
            next_number: start.number + 1,
            previous_end: 0,
            syncs: options.durability != Durability::Unsynced,
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

    /// How many bytes the log has since the last snapshot.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Takes what `buffer` holds, to be written by the next flush.
    pub(super) fn collect(&mut self, buffer: &Mutex<Entries>) {
        // Swapped, so that the shard waits for no copy.
        mem::swap(&mut *buffer.lock(), &mut self.spare);
        if !self.spare.is_empty() {
            self.frame.extend_from_slice(self.spare.as_bytes());
            self.spare.clear(KEPT_BYTES);
        }
    }

    /// Writes, and if the mode says so syncs, all that was logged before.
    ///
    /// After a failure nothing is forgotten: the next flush tries again, in a new segment.
    pub(super) fn flush(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        buffers.iter().for_each(|buffer| self.collect(buffer));
        self.write_frame(self.syncs)
    }

    /// As [`Writer::flush`], and syncs whatever the mode.
    pub(super) fn flush_durably(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        self.flush(buffers)?;
        self.sync()
    }

    fn write_frame(&mut self, sync: bool) -> Result<(), StorageFailure> {
        if self.frame.len() == FrameHeader::LENGTH {
            return Ok(());
        }
        let mut segment = match self.segment.take() {
            Some(segment) => segment,
            None => self.begin_segment()?,
        };
        let before = segment.end();
        if let Err(failure) = segment.append(&mut self.frame) {
            // Of two failures the first is told.
            let _ = self.retire(segment);
            return Err(failure);
        }
        if sync && let Err(failure) = segment.sync() {
            self.give_up(&segment, before, &failure);
            return Err(failure);
        }
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
        self.next_number += 1;
        Ok(segment)
    }

    /// Ends a segment, all of which is durable then.
    fn retire(&mut self, mut segment: Segment) -> Result<(), StorageFailure> {
        self.confirm(&mut segment)?;
        self.previous_end = segment.durable();
        Ok(())
    }

    /// Makes all of a segment durable, which has ended if this fails.
    fn confirm(&mut self, segment: &mut Segment) -> Result<(), StorageFailure> {
        if segment.durable() < segment.end()
            && let Err(failure) = segment.sync()
        {
            self.give_up(segment, segment.end(), &failure);
            return Err(failure);
        }
        Ok(())
    }

    /// Ends a segment that could not be synced: a second sync could succeed though the first has
    /// dropped the bytes. What is not durable of it doesn't count. Up to `end` it is taken back, to
    /// be written again; if the file does not give it back, it is lost.
    fn give_up(&mut self, segment: &Segment, end: u64, failure: &StorageFailure) {
        self.previous_end = segment.durable();
        match self.unsynced(segment, end) {
            Some(entries) => {
                let place = FrameHeader::LENGTH..FrameHeader::LENGTH;
                self.frame.splice(place, entries);
            }
            None => self.lost = Some(failure.clone()),
        }
    }

    /// The entries of a segment's frames up to `end` that no sync has confirmed.
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
            let frame = frames.at(offset)?;
            entries.extend_from_slice(frame);
            offset = frames.after(offset, frame);
        }
        Some(entries)
    }

    /// Makes durable what was collected, and begins the segment whose number is returned: what is
    /// logged from now on stands there or later.
    pub(super) fn cut(&mut self) -> Result<u64, StorageFailure> {
        self.write_frame(true)?;
        if let Some(segment) = self.segment.take() {
            self.retire(segment)?;
        }
        let segment = self.begin_segment()?;
        let number = segment.number();
        self.segment = Some(segment);
        self.closed = false;
        Ok(number)
    }

    /// Notes how a snapshot ended that stands in for the first `log_bytes` of the log.
    pub(super) fn note_snapshot(&mut self, log_bytes: u64, succeeded: bool) {
        if succeeded {
            self.written_bytes -= log_bytes;
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
            .is_some_and(|at| self.written_bytes >= at)
    }

    /// Writes the last of all, and says in the file that it is the last. Can be repeated until it
    /// succeeds, and after.
    pub(super) fn close(&mut self, buffers: &Buffers) -> Result<(), StorageFailure> {
        self.flush_durably(buffers)?;
        if !self.closed {
            let mut last = Entries::default();
            last.closed();
            self.frame.extend_from_slice(last.as_bytes());
            // If this write fails, the next flush repeats it: there is no second entry.
            self.closed = true;
            self.write_frame(true)?;
        }
        Ok(())
    }

    /// Makes durable what was written without.
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
