//! Reads the files at open: the newest snapshot, and the log after it.

use std::mem;

use super::entry::{Entry, EntryReader};
use super::frames::Frames;
use super::header::{BadHeader, FileHeader, FileKind, VERSION};
use super::names;
use super::replay::Replay;
use super::writer::WriterStart;
use crate::Error;
use crate::storage::{Storage, StorageFailure, StoredFile};

/// The result of reading the files when a database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The size of all files to read, in bytes.
    pub total_bytes: u64,
    /// The number of bytes read.
    pub read_bytes: u64,
    /// The number of samples read, including those replaced or deleted later.
    pub samples: u64,
    /// Whether the database was closed cleanly.
    pub closed: bool,
    /// The torn end of the log, if a crash left one.
    pub torn: Option<TornTail>,
}

/// The incomplete end of a log after a crash. Recovery ignores it. Nothing in the files shows that
/// any of it was durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// The name of the file.
    pub file: String,
    /// The offset of the first ignored byte.
    pub offset: u64,
    /// The number of ignored bytes.
    pub bytes: u64,
}

/// The files of a folder: those to read, and those left over from an interrupted snapshot.
pub(super) struct Inventory {
    pub(super) snapshot: Option<StoredFile>,
    /// In ascending order.
    pub(super) segments: Vec<StoredFile>,
    obsolete: Vec<String>,
}

/// Replays the content of the files, and removes obsolete files.
pub(crate) fn recover(
    storage: &dyn Storage,
    replay: &mut impl Replay,
    progress: &mut dyn FnMut(&Recovery),
) -> Result<(Recovery, WriterStart), Error> {
    let inventory = Inventory::take(storage)?;
    inventory.check()?;
    let files = inventory.snapshot.iter().chain(&inventory.segments);
    let mut reader = Reader {
        storage,
        replay,
        progress,
        entries: EntryReader::new(),
        recovery: Recovery {
            total_bytes: files.map(|file| file.length).sum(),
            ..Recovery::default()
        },
    };
    if let Some(snapshot) = &inventory.snapshot {
        reader.snapshot(snapshot)?;
    }
    let start = reader.segments(&inventory)?;
    let recovery = reader.recovery;
    // Remove these last: if a newer file is damaged, they may help to repair the database.
    for name in &inventory.obsolete {
        let failed = |cause| StorageFailure::new("remove", name, cause);
        storage.remove(name).map_err(failed)?;
    }
    Ok((recovery, start))
}

impl Inventory {
    pub(super) fn take(storage: &dyn Storage) -> Result<Self, Error> {
        let listed = storage.list();
        let mut files = listed.map_err(|cause| StorageFailure::new("list", "", cause))?;
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let newest = files
            .iter()
            .filter_map(|f| names::snapshot_number(&f.name))
            .max();
        // A snapshot has the number of the first segment after it.
        let first = newest.unwrap_or(1);
        let mut inventory = Self {
            snapshot: None,
            segments: Vec::new(),
            obsolete: Vec::new(),
        };
        for file in files {
            if let Some(number) = names::segment_number(&file.name) {
                match number < first {
                    true => inventory.obsolete.push(file.name),
                    false => inventory.segments.push(file),
                }
            } else if let Some(number) = names::snapshot_number(&file.name) {
                match Some(number) == newest {
                    true => inventory.snapshot = Some(file),
                    false => inventory.obsolete.push(file.name),
                }
            } else if names::is_unfinished(&file.name) {
                inventory.obsolete.push(file.name);
            }
        }
        Ok(inventory)
    }

    /// Reports a missing segment.
    fn check(&self) -> Result<(), Error> {
        // A snapshot has the number of the first segment after it.
        let snapshot = self.snapshot.as_ref();
        let first = snapshot.and_then(|file| names::snapshot_number(&file.name));
        let first = first.unwrap_or(1);
        // A snapshot has at least one segment after it, because the cut creates that segment before
        // the snapshot.
        let expected = self.segments.len().max(self.snapshot.iter().len());
        for (number, index) in (first..).zip(0..expected) {
            let name = names::segment(number);
            if self
                .segments
                .get(index)
                .is_none_or(|file| file.name != name)
            {
                return Err(Error::Corrupt {
                    file: name,
                    offset: 0,
                    reason: "the file is missing",
                });
            }
        }
        Ok(())
    }
}

/// Reads the files in order.
struct Reader<'a, R> {
    storage: &'a dyn Storage,
    replay: &'a mut R,
    progress: &'a mut dyn FnMut(&Recovery),
    entries: EntryReader,
    recovery: Recovery,
}

/// A segment in memory.
#[derive(Default)]
struct Loaded {
    bytes: Vec<u8>,
    /// `None` if a crash came before the header was durable.
    header: Option<FileHeader>,
}

impl<R: Replay> Reader<'_, R> {
    fn snapshot(&mut self, file: &StoredFile) -> Result<(), Error> {
        let mut bytes = Vec::new();
        self.load(file, &mut bytes)?;
        let number = names::snapshot_number(&file.name).unwrap_or_default();
        let frames = Frames {
            name: &file.name,
            number,
            bytes: &bytes,
        };
        let header = FileHeader::decode(&bytes, FileKind::Snapshot);
        header.map_err(|bad| refuse_header(&frames, bad))?;
        let (end, closed) = self.frames(&frames)?;
        if !closed || end != bytes.len() {
            return Err(frames.corrupt(end, "a frame of the snapshot is damaged"));
        }
        Ok(())
    }

    /// Restores all segments. The header of each segment holds the valid length of the previous
    /// one, so two segments are in memory at a time.
    fn segments(&mut self, inventory: &Inventory) -> Result<WriterStart, Error> {
        let mut start = WriterStart {
            number: 1,
            previous_end: 0,
            log_bytes: 0,
        };
        let mut current = Loaded::default();
        let mut next = Loaded::default();
        let mut files = inventory.segments.iter().peekable();
        if let Some(first) = files.peek() {
            self.load_segment(first, true, &mut current)?;
            start.number = names::segment_number(&first.name).unwrap_or_default();
        }
        while let Some(file) = files.next() {
            let mut valid_length = None;
            if let Some(following) = files.peek() {
                let is_last = inventory.segments.last() == Some(following);
                self.load_segment(following, is_last, &mut next)?;
                valid_length = next.header.map(|header| header.previous_end);
            }
            // A last segment without a header is empty. The new log reuses its number.
            if current.header.is_some() {
                let end = self.segment(file, &current.bytes, start.number, valid_length)?;
                start.log_bytes += end;
                start.previous_end = end;
                start.number += 1;
            }
            mem::swap(&mut current, &mut next);
        }
        Ok(start)
    }

    /// Restores a segment and returns the length restored. `valid_length` is `None` for the last
    /// segment with a header: its valid frames end where the first invalid one begins.
    fn segment(
        &mut self,
        file: &StoredFile,
        bytes: &[u8],
        number: u64,
        valid_length: Option<u64>,
    ) -> Result<u64, Error> {
        let limit = valid_length.map_or(bytes.len(), |end| end.min(bytes.len() as u64) as usize);
        let frames = Frames {
            name: &file.name,
            number,
            bytes: &bytes[..limit],
        };
        let (end, closed) = self.frames(&frames)?;
        if valid_length.is_some_and(|length| length != end as u64) || frames.was_durable(end) {
            return Err(frames.corrupt(end, "a durable frame is damaged"));
        }
        self.recovery.closed = closed;
        if end < limit {
            self.recovery.torn = Some(TornTail {
                file: file.name.clone(),
                offset: end as u64,
                bytes: (limit - end) as u64,
            });
        }
        Ok(end as u64)
    }

    /// Restores frames until the first invalid one. Returns the offset of the invalid one, and
    /// whether the closing entry comes just before it.
    fn frames(&mut self, frames: &Frames<'_>) -> Result<(usize, bool), Error> {
        let mut end = FileHeader::LENGTH;
        let mut closed = false;
        let before = self.recovery.read_bytes;
        while let Some(entries) = frames.entries_at(end) {
            let offset = end;
            if closed {
                return Err(frames.corrupt(offset, "a frame follows the closing entry"));
            }
            let restored = self.entries(entries);
            closed = restored.map_err(|reason| frames.corrupt(offset, reason))?;
            end = frames.end_of_frame(end, entries);
            self.recovery.read_bytes = before + end as u64;
            (self.progress)(&self.recovery);
        }
        // Count the invalid bytes as read too.
        self.recovery.read_bytes = before + frames.bytes.len() as u64;
        (self.progress)(&self.recovery);
        Ok((end, closed))
    }

    /// Restores the entries of a frame. Returns `true` if the last one is the closing entry.
    fn entries(&mut self, mut entries: &[u8]) -> Result<bool, &'static str> {
        // The checksum was correct, so an unreadable entry is not a torn end but an error.
        while !entries.is_empty() {
            let entry = self.entries.next(&mut entries);
            match entry.ok_or("an entry can't be read")? {
                Entry::Closed if entries.is_empty() => return Ok(true),
                Entry::Closed => return Err("entries follow the closing entry"),
                Entry::Samples(id, samples) => {
                    self.recovery.samples += samples.len() as u64;
                    self.replay.samples(id, samples)?;
                }
                entry => self.replay.apply(entry)?,
            }
        }
        Ok(false)
    }

    fn load(&self, file: &StoredFile, bytes: &mut Vec<u8>) -> Result<(), StorageFailure> {
        let failed = |cause| StorageFailure::new("read", &file.name, cause);
        self.storage.read(&file.name, bytes).map_err(failed)
    }

    /// Loads a segment and decodes its header.
    fn load_segment(
        &self,
        file: &StoredFile,
        is_last: bool,
        into: &mut Loaded,
    ) -> Result<(), Error> {
        self.load(file, &mut into.bytes)?;
        let number = names::segment_number(&file.name).unwrap_or_default();
        let frames = Frames {
            name: &file.name,
            number,
            bytes: &into.bytes,
        };
        into.header = match FileHeader::decode(&into.bytes, FileKind::Segment) {
            Ok(header) if header.number == number => Some(header),
            Ok(_) => return Err(frames.corrupt(0, "the file has the name of another file")),
            // A crash interrupted the creation of the segment, so it holds no frames yet.
            Err(BadHeader::Damaged) if is_last && into.bytes.len() <= FileHeader::LENGTH => None,
            Err(bad) => return Err(refuse_header(&frames, bad)),
        };
        Ok(())
    }
}

pub(super) fn refuse_header(frames: &Frames<'_>, bad: BadHeader) -> Error {
    match bad {
        BadHeader::Damaged => frames.corrupt(0, "the header is damaged"),
        BadHeader::Newer(version) => Error::FormatTooNew {
            file: frames.name.to_owned(),
            version,
            supported: VERSION,
        },
    }
}
