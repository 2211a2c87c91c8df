//! The frames of a file in memory.
//!
//! Invariant: only the last segment may have a torn end, and only if no later frame proves that the
//! torn bytes were durable. Any other unreadable frame is damage. `tests/it/wal/damage.rs` fails
//! without it.

use super::header::FrameHeader;
use crate::Error;

/// The content of one file.
pub(super) struct Frames<'a> {
    pub(super) name: &'a str,
    pub(super) number: u64,
    pub(super) bytes: &'a [u8],
}

impl Frames<'_> {
    /// Returns the entries of the frame at `offset`; `None` if there is no complete frame with
    /// correct checksums.
    pub(super) fn entries_at(&self, offset: usize) -> Option<&[u8]> {
        let header = FrameHeader::decode(self.bytes, self.number, offset)?;
        let length = usize::try_from(header.length).ok()?;
        let entries = self.bytes[offset + FrameHeader::LENGTH..].get(..length)?;
        (crc32c::crc32c(entries) == header.checksum).then_some(entries)
    }

    /// Returns the end of the frame at `offset` with `entries`.
    pub(super) fn end_of_frame(&self, offset: usize, entries: &[u8]) -> usize {
        offset + FrameHeader::LENGTH + entries.len()
    }

    /// Returns `true` if a later frame proves that the bytes at `end` were durable. Then the file
    /// is damaged there, not torn by a crash.
    pub(super) fn was_durable(&self, end: usize) -> bool {
        // The damage hides where the next frame begins, so look for a header at every offset.
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
