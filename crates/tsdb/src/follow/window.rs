use std::ops::Range;

use super::files::{Files, LogFile};
use crate::storage::StorageFailure;
use crate::wal::{FileHeader, FileKind, FrameHeader};

/// How much of a file is read at a time, unless a frame is larger.
const CHUNK: usize = 1 << 20;

/// A part of a file in memory.
#[derive(Default)]
pub(super) struct Window {
    file: Option<LogFile>,
    offset: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Forgets what was read, so that the next look finds what was written since.
    pub(super) fn forget(&mut self) {
        self.file = None;
    }

    /// The range of the frame's entries in [`Self::bytes`]; `None` if there is no complete frame with
    /// correct checksums at `offset`.
    pub(super) fn frame(
        &mut self,
        files: &Files,
        file: LogFile,
        offset: u64,
    ) -> Result<Option<Range<usize>>, StorageFailure> {
        let mut wanted = match self.found(file, offset) {
            Found::Frame(entries) => return Ok(Some(entries)),
            Found::Part(length) => length,
        };
        // The first read may bring no more than the header of a large frame.
        for _ in 0..2 {
            files.read(file, offset, wanted.max(CHUNK), &mut self.bytes)?;
            (self.file, self.offset) = (Some(file), offset);
            match self.found(file, offset) {
                Found::Frame(entries) => return Ok(Some(entries)),
                Found::Part(length) => wanted = length,
            }
            if wanted <= self.bytes.len().max(CHUNK) {
                break;
            }
        }
        Ok(None)
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    fn found(&self, file: LogFile, offset: u64) -> Found {
        let start = offset
            .checked_sub(self.offset)
            .filter(|_| self.file == Some(file));
        let start = start.and_then(|start| usize::try_from(start).ok());
        let Some((start, rest)) = start.and_then(|start| Some((start, self.bytes.get(start..)?)))
        else {
            return Found::Part(0);
        };
        let Some(header) = FrameHeader::decode_first(rest, file.number(), offset) else {
            return Found::Part(0);
        };
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        let end = FrameHeader::LENGTH.saturating_add(length);
        match rest.get(FrameHeader::LENGTH..end) {
            None => Found::Part(end),
            Some(entries) if crc32c::crc32c(entries) != header.checksum => Found::Part(0),
            Some(_) => Found::Frame(start + FrameHeader::LENGTH..start + end),
        }
    }
}

enum Found {
    /// A frame, whose entries are in this range.
    Frame(Range<usize>),
    /// No complete frame. Its length in bytes; 0 if that is unknown.
    Part(usize),
}

/// The valid length of the segment before this one; `None` if the segment has no complete header.
pub(super) fn previous_end(files: &Files, segment: u64) -> Result<Option<u64>, StorageFailure> {
    let mut bytes = Vec::new();
    files.read(LogFile::Segment(segment), 0, FileHeader::LENGTH, &mut bytes)?;
    let header = FileHeader::decode(&bytes, FileKind::Segment).ok();
    Ok(header.map(|header| header.previous_end))
}
