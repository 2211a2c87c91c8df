//! The frames of a file that is wholly in memory.

use super::header::FrameHeader;
use crate::Error;

/// One file.
pub(super) struct Frames<'a> {
    pub(super) name: &'a str,
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
}

impl Frames<'_> {
    /// The entries of the frame at `offset`; `None` if there is no sound and whole frame.
    pub(super) fn at(&self, offset: usize) -> Option<&[u8]> {
        let header = FrameHeader::decode(self.bytes, self.number, offset)?;
        let length = usize::try_from(header.length).ok()?;
        let entries = self.bytes[offset + FrameHeader::LENGTH..].get(..length)?;
        (crc32c::crc32c(entries) == header.checksum).then_some(entries)
    }

    /// Where the frame ends that begins at `offset` and holds `entries`.
    pub(super) fn after(&self, offset: usize, entries: &[u8]) -> usize {
        offset + FrameHeader::LENGTH + entries.len()
    }

    /// Whether a later frame proves that what stands at `end` was durable once. Then it isn't the
    /// end of a write that a crash cut off, but damage.
    pub(super) fn was_durable(&self, end: usize) -> bool {
        (end + 1..self.bytes.len()).any(|offset| {
            FrameHeader::decode(self.bytes, self.number, offset)
                .is_some_and(|header| header.durable > end as u64)
        })
    }

    pub(super) fn corrupt(&self, offset: usize, reason: &'static str) -> Error {
        Error::Corrupt {
            file: self.name.to_owned(),
            offset: offset as u64,
            reason,
        }
    }
}
