//! Writes one file, frame by frame.

use std::sync::Arc;

use parking_lot::Mutex;

use super::header::{FileHeader, FileKind, FrameHeader};
use crate::storage::{Storage, StorageFailure, StorageFile};

/// A segment or a snapshot that is being written.
pub(crate) struct Segment {
    file: Arc<SegmentFile>,
    number: u64,
    /// The offset of the next frame.
    end: u64,
    /// The number of bytes that a sync has confirmed.
    durable: u64,
}

/// The file of a segment. A background sync shares it with the writer.
pub(super) struct SegmentFile {
    file: Box<dyn StorageFile>,
    name: String,
    /// The failure of a sync. It is final: the operating system reports lost bytes to one sync only,
    /// and a later sync succeeds without them.
    failed: Mutex<Option<StorageFailure>>,
}

impl SegmentFile {
    /// Makes the bytes durable that were appended before the call.
    pub(super) fn sync(&self) -> Result<(), StorageFailure> {
        let mut failed = self.failed.lock();
        if let Some(failure) = &*failed {
            return Err(failure.clone());
        }
        let synced = self.file.sync();
        synced.map_err(|cause| {
            let failure = StorageFailure::new("sync", &self.name, cause);
            failed.insert(failure).clone()
        })
    }
}

impl Segment {
    /// Creates the file `name` with its header. It becomes durable with the next sync of the file
    /// and of the folder.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: String,
        header: &FileHeader,
    ) -> Result<Self, StorageFailure> {
        let fail = |action| {
            let name = name.clone();
            move |cause| StorageFailure::new(action, &name, cause)
        };
        let file = storage.create(&name).map_err(fail("create"))?;
        let started = file.append(&header.encode()).map_err(fail("write"));
        if let Err(failure) = started {
            // Ignore a failure to remove the file: the next attempt replaces it.
            let _ = storage.remove(&name);
            return Err(failure);
        }
        let failed = Mutex::default();
        Ok(Self {
            file: Arc::new(SegmentFile { file, name, failed }),
            number: header.number,
            end: FileHeader::LENGTH as u64,
            durable: 0,
        })
    }

    /// Creates a segment of the log and makes it durable.
    pub(crate) fn begin(
        storage: &dyn Storage,
        number: u64,
        previous_end: u64,
    ) -> Result<Self, StorageFailure> {
        let header = FileHeader {
            kind: FileKind::Segment,
            number,
            previous_end,
        };
        let mut segment = Self::create(storage, super::names::segment(number), &header)?;
        // Sync before any frame is written: recovery accepts a broken header only in a file without
        // frames.
        segment.sync()?;
        storage
            .sync_folder()
            .map_err(|cause| StorageFailure::new("sync", "", cause))?;
        Ok(segment)
    }

    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    pub(super) fn file(&self) -> &Arc<SegmentFile> {
        &self.file
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the length of the file.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of bytes that are durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// Writes a frame. `frame` starts with room for the header, and this method fills it in.
    pub(crate) fn append(&mut self, frame: &mut [u8]) -> Result<(), StorageFailure> {
        let (header, entries) = frame.split_at_mut(FrameHeader::LENGTH);
        let encoded = FrameHeader {
            length: entries.len() as u64,
            durable: self.durable,
            checksum: crc32c::crc32c(entries),
        };
        header.copy_from_slice(&encoded.encode(self.number, self.end));
        let written = self.file.file.append(frame);
        written.map_err(|cause| StorageFailure::new("write", self.name(), cause))?;
        self.end += frame.len() as u64;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), StorageFailure> {
        self.file.sync()?;
        self.durable = self.end;
        Ok(())
    }

    /// Records that a background sync has made the first `end` bytes durable.
    pub(super) fn note_synced(&mut self, end: u64) {
        self.durable = self.durable.max(end);
    }
}
