//! Reads all intact frames of damaged files.

use super::entry::{Entry, EntryReader};
use super::frames::Frames;
use super::header::{BadHeader, FileHeader, FileKind};
use super::names;
use super::recover::{Inventory, refuse_header};
use super::replay::Replay;
use super::writer::WriterStart;
use crate::Error;
use crate::storage::{Storage, StorageFailure};

/// A damaged part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The name of the file.
    pub file: String,
    /// The offset of the first damaged byte.
    pub offset: u64,
    /// The number of bytes up to the next intact frame, or to the end of the file. Zero if the file
    /// is missing, or if its entries contradict each other.
    pub bytes: u64,
    /// The kind of damage.
    pub reason: &'static str,
}

/// Receives the entries that are intact.
pub(crate) trait Salvage: Replay {
    /// Notes that entries of the log are lost here. Lost entries of a snapshot are not noted: a
    /// snapshot has each series in one frame, so a series is either whole or unknown.
    fn lost(&mut self);
}

/// Passes all intact entries to `replay`. Returns the damage, and the start of a log after these
/// files.
///
/// # Errors
/// [`Error::FormatTooNew`], or an error of the storage.
pub(crate) fn salvage(
    storage: &dyn Storage,
    replay: &mut impl Salvage,
) -> Result<(Vec<Damage>, WriterStart), Error> {
    let mut inventory = Inventory::take(storage)?;
    let mut reader = Reader {
        replay,
        entries: EntryReader::new(),
        damage: Vec::new(),
    };
    let read = |name: &str| {
        let mut bytes = Vec::new();
        let read = storage.read(name, &mut bytes);
        read.map_err(|cause| StorageFailure::new("read", name, cause))?;
        Ok::<_, Error>(bytes)
    };
    let snapshot = inventory.snapshot.as_ref();
    let mut number = 1;
    if let Some(file) = snapshot {
        let bytes = read(&file.name)?;
        number = names::snapshot_number(&file.name).unwrap_or_default();
        reader.snapshot(&frames(&file.name, number, &bytes))?;
    }
    if let Some(last) = inventory.segments.last()
        && last.length <= FileHeader::LENGTH as u64
        && FileHeader::decode(&read(&last.name)?, FileKind::Segment).is_err()
    {
        // A crash interrupted the creation of this segment. The new log reuses its number.
        inventory.segments.pop();
    }
    let mut log_bytes = 0;
    let mut previous_end = 0;
    let mut current = None;
    for file in &inventory.segments {
        let bytes = read(&file.name)?;
        let found = names::segment_number(&file.name).unwrap_or_default();
        let header = FileHeader::decode(&bytes, FileKind::Segment).ok();
        if let Some((name, bytes)) = current.replace((file.name.clone(), bytes)) {
            // The header of a segment has the valid length of the segment before it.
            let valid = header.filter(|_| found == number + 1);
            let valid = valid.map(|header| header.previous_end);
            reader.segment(&frames(&name, number, &bytes), valid, false)?;
            number += 1;
        }
        while number < found {
            reader.missing(names::segment(number));
            number += 1;
        }
    }
    if let Some((name, bytes)) = current {
        previous_end = reader.segment(&frames(&name, number, &bytes), None, true)?;
        log_bytes = bytes.len() as u64;
        number += 1;
    } else if snapshot.is_some() {
        reader.missing(names::segment(number));
    }
    let start = WriterStart {
        number,
        previous_end,
        log_bytes,
    };
    Ok((reader.damage, start))
}

fn frames<'a>(name: &'a str, number: u64, bytes: &'a [u8]) -> Frames<'a> {
    Frames {
        name,
        number,
        bytes,
    }
}

struct Reader<'a, R> {
    replay: &'a mut R,
    entries: EntryReader,
    damage: Vec<Damage>,
}

impl<R: Salvage> Reader<'_, R> {
    fn missing(&mut self, name: String) {
        self.damage(name, 0, 0, "the file is missing");
        self.replay.lost();
    }

    fn damage(&mut self, file: String, offset: usize, bytes: usize, reason: &'static str) {
        self.damage.push(Damage {
            file,
            offset: offset as u64,
            bytes: bytes as u64,
            reason,
        });
    }

    fn snapshot(&mut self, frames: &Frames<'_>) -> Result<(), Error> {
        self.header(frames, FileKind::Snapshot)?;
        let before = self.damage.len();
        let (end, closed) = self.frames(frames, |_| {});
        if end < frames.bytes.len() || (!closed && self.damage.len() == before) {
            let bytes = frames.bytes.len() - end;
            self.damage(frames.name.to_owned(), end, bytes, "the end is damaged");
        }
        Ok(())
    }

    /// Reads a segment. Returns the end of its last intact frame.
    fn segment(
        &mut self,
        frames: &Frames<'_>,
        valid_length: Option<u64>,
        is_last: bool,
    ) -> Result<u64, Error> {
        self.header(frames, FileKind::Segment)?;
        let length = frames.bytes.len();
        let valid = valid_length.map_or(length, |valid| valid as usize);
        let limited = Frames {
            bytes: &frames.bytes[..valid.min(length)],
            ..*frames
        };
        let (end, _) = self.frames(&limited, R::lost);
        // If nothing proves that the end of the last segment was durable, a crash has torn it.
        if end < valid && (!is_last || limited.was_durable(end)) {
            self.damage(
                frames.name.to_owned(),
                end,
                valid - end,
                "the end is damaged",
            );
            self.replay.lost();
        }
        Ok(end as u64)
    }

    fn header(&mut self, frames: &Frames<'_>, kind: FileKind) -> Result<(), Error> {
        match FileHeader::decode(frames.bytes, kind) {
            Ok(header) if header.number == frames.number => {}
            Err(bad @ BadHeader::Newer(_)) => return Err(refuse_header(frames, bad)),
            _ => {
                let length = FileHeader::LENGTH.min(frames.bytes.len());
                self.damage(frames.name.to_owned(), 0, length, "the header is damaged");
            }
        }
        Ok(())
    }

    /// Reads all intact frames. Calls `lost` for each damaged part between two of them. Returns the
    /// end of the last intact frame, and whether it ends with the closing entry.
    fn frames(&mut self, frames: &Frames<'_>, lost: impl Fn(&mut R)) -> (usize, bool) {
        let mut end = FileHeader::LENGTH.min(frames.bytes.len());
        let mut closed = false;
        // The damage hides where the next frame begins, so look for one at every offset.
        while let Some((offset, entries)) = (end..frames.bytes.len())
            .find_map(|offset| frames.entries_at(offset).map(|entries| (offset, entries)))
        {
            if offset > end {
                let name = frames.name.to_owned();
                self.damage(name, end, offset - end, "a frame is damaged");
                lost(self.replay);
            }
            if closed {
                self.fault(frames, offset, "a frame follows the closing entry");
            }
            closed = self.entries(entries).unwrap_or_else(|reason| {
                self.fault(frames, offset, reason);
                false
            });
            end = frames.end_of_frame(offset, entries);
        }
        (end, closed)
    }

    /// Notes a fault in an intact frame. After damage, it is a consequence and not noted.
    fn fault(&mut self, frames: &Frames<'_>, offset: usize, reason: &'static str) {
        if self.damage.is_empty() {
            self.damage(frames.name.to_owned(), offset, 0, reason);
        }
    }

    /// Reads the entries of a frame. Returns whether the last one is the closing entry, or the first
    /// fault. Reads on after an entry that contradicts the others, because some of those may be lost.
    fn entries(&mut self, mut entries: &[u8]) -> Result<bool, &'static str> {
        let mut read = Ok(false);
        while !entries.is_empty() {
            let received = match self.entries.next(&mut entries) {
                None => return read.and(Err("an entry can't be read")),
                Some(Entry::Closed) => return read.and(Ok(true)),
                Some(Entry::Samples(id, samples)) => self.replay.samples(id, samples),
                Some(entry) => self.replay.apply(entry),
            };
            read = read.and(received.map(|()| false));
        }
        read
    }
}
