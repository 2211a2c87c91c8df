//! Reads the files back: the newest snapshot, and the log after it.

use std::mem;

use super::entry::{Entry, EntryReader};
use super::frames::Frames;
use super::header::{BadHeader, FileHeader, FileKind, VERSION};
use super::names;
use super::writer::WriterStart;
use crate::Error;
use crate::db::Restorer;
use crate::storage::{Storage, StorageFailure, StoredFile};

/// What was found when a database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// How many bytes of files there are to read.
    pub total_bytes: u64,
    /// How many of them have been read.
    pub read_bytes: u64,
    /// How many samples they held, those included that were replaced or deleted later.
    pub samples: u64,
    /// Whether the log ends as a close leaves it.
    pub closed: bool,
    /// What was cut off the end of the log.
    pub torn: Option<TornTail>,
}

/// The end of a log that a crash left half written. It is cut off: none of it was durable, as far
/// as the files can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// The file.
    pub file: String,
    /// Where it was cut.
    pub offset: u64,
    /// How many bytes stood there.
    pub bytes: u64,
}

/// The files of a folder that count, and those that are left over.
struct Inventory {
    snapshot: Option<StoredFile>,
    /// In ascending order, without a gap.
    segments: Vec<StoredFile>,
    obsolete: Vec<String>,
}

/// Restores what the files hold. What a crash has left over is removed.
pub(crate) fn recover(
    storage: &dyn Storage,
    restorer: &mut Restorer<'_>,
    progress: &mut dyn FnMut(&Recovery),
) -> Result<(Recovery, WriterStart), Error> {
    let inventory = Inventory::take(storage)?;
    let files = inventory.snapshot.iter().chain(&inventory.segments);
    let mut replay = Replay {
        storage,
        restorer,
        progress,
        reader: EntryReader::new(),
        recovery: Recovery {
            total_bytes: files.map(|file| file.length).sum(),
            ..Recovery::default()
        },
    };
    if let Some(snapshot) = &inventory.snapshot {
        replay.snapshot(snapshot)?;
    }
    let start = replay.segments(&inventory)?;
    let recovery = replay.recovery;
    for name in &inventory.obsolete {
        let failed = |cause| StorageFailure::new("remove", name, cause);
        storage.remove(name).map_err(failed)?;
    }
    Ok((recovery, start))
}

impl Inventory {
    fn take(storage: &dyn Storage) -> Result<Self, Error> {
        let listed = storage.list();
        let mut files = listed.map_err(|cause| StorageFailure::new("list", "", cause))?;
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let newest = files
            .iter()
            .filter_map(|f| names::snapshot_number(&f.name))
            .max();
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
        inventory.check(first)?;
        Ok(inventory)
    }

    /// Says which segment is missing, if one is. A snapshot is always followed by one.
    fn check(&self, first: u64) -> Result<(), Error> {
        let expected = self.segments.len().max(self.snapshot.iter().len());
        for (number, place) in (first..).zip(0..expected) {
            let name = names::segment(number);
            if self
                .segments
                .get(place)
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

struct Replay<'a, 'd> {
    storage: &'a dyn Storage,
    restorer: &'a mut Restorer<'d>,
    progress: &'a mut dyn FnMut(&Recovery),
    reader: EntryReader,
    recovery: Recovery,
}

/// A segment in memory.
#[derive(Default)]
struct Loaded {
    bytes: Vec<u8>,
    /// `None` if the crash came before the segment was begun.
    header: Option<FileHeader>,
}

impl Replay<'_, '_> {
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

    /// Each segment's successor tells how much of it counts, so it is loaded first.
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
            let mut counts = None;
            if let Some(following) = files.peek() {
                let is_last = inventory.segments.last() == Some(following);
                self.load_segment(following, is_last, &mut next)?;
                counts = next.header.map(|header| header.previous_end);
            }
            if current.header.is_some() {
                let end = self.segment(file, &current.bytes, start.number, counts)?;
                start.log_bytes += end;
                start.previous_end = end;
                start.number += 1;
            }
            mem::swap(&mut current, &mut next);
        }
        Ok(start)
    }

    /// Restores a segment of which `counts` bytes count, or as many as are whole. Returns how many.
    fn segment(
        &mut self,
        file: &StoredFile,
        bytes: &[u8],
        number: u64,
        counts: Option<u64>,
    ) -> Result<u64, Error> {
        let limit = counts.map_or(bytes.len(), |end| end.min(bytes.len() as u64) as usize);
        let frames = Frames {
            name: &file.name,
            number,
            bytes: &bytes[..limit],
        };
        let (end, closed) = self.frames(&frames)?;
        if counts.is_some_and(|counts| counts != end as u64) || frames.was_durable(end) {
            return Err(frames.corrupt(end, "a frame is damaged that was durable"));
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

    /// Restores the good frames. Returns where they end, and whether the file is closed there.
    fn frames(&mut self, frames: &Frames<'_>) -> Result<(usize, bool), Error> {
        let mut end = FileHeader::LENGTH;
        let mut closed = false;
        let before = self.recovery.read_bytes;
        while let Some(entries) = frames.at(end) {
            let offset = end;
            if closed {
                return Err(frames.corrupt(offset, "there is a frame after the last"));
            }
            let whole = self.entries(entries);
            closed = whole.map_err(|reason| frames.corrupt(offset, reason))?;
            end = frames.after(end, entries);
            self.recovery.read_bytes = before + end as u64;
            (self.progress)(&self.recovery);
        }
        self.recovery.read_bytes = before + frames.bytes.len() as u64;
        (self.progress)(&self.recovery);
        Ok((end, closed))
    }

    /// Restores a frame. Returns whether it says that it is the last.
    ///
    /// An entry that can't be read in a sound frame is no torn end: the file was not written by
    /// this code.
    fn entries(&mut self, mut entries: &[u8]) -> Result<bool, &'static str> {
        while !entries.is_empty() {
            let entry = self.reader.next(&mut entries);
            match entry.ok_or("an entry can't be read")? {
                Entry::Closed if entries.is_empty() => return Ok(true),
                Entry::Closed => return Err("there are entries after the last"),
                Entry::Samples(id, samples) => {
                    self.recovery.samples += samples.len() as u64;
                    self.restorer.samples(id, samples)?;
                }
                entry => self.restorer.apply(entry)?,
            }
        }
        Ok(false)
    }

    fn load(&self, file: &StoredFile, bytes: &mut Vec<u8>) -> Result<(), StorageFailure> {
        let failed = |cause| StorageFailure::new("read", &file.name, cause);
        self.storage.read(&file.name, bytes).map_err(failed)
    }

    /// The last segment may be one that a crash kept from beginning: it holds nothing.
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
            Ok(_) => return Err(frames.corrupt(0, "the file has another's name")),
            Err(BadHeader::Damaged) if is_last && into.bytes.len() <= FileHeader::LENGTH => None,
            Err(bad) => return Err(refuse_header(&frames, bad)),
        };
        Ok(())
    }
}

fn refuse_header(frames: &Frames<'_>, bad: BadHeader) -> Error {
    match bad {
        BadHeader::Damaged => frames.corrupt(0, "the header is damaged"),
        BadHeader::Newer(version) => Error::NewerFormat {
            file: frames.name.to_owned(),
            version,
            supported: VERSION,
        },
    }
}
