//! The headers of files and frames.

use crc32c::{crc32c, crc32c_append};

/// The format version that this code writes, and the newest that it reads.
pub(crate) const VERSION: u32 = 1;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A segment of the log.
    Segment,
    /// A snapshot.
    Snapshot,
}

impl FileKind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Segment => b"TSDB-LOG",
            Self::Snapshot => b"TSDB-SNP",
        }
    }
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) kind: FileKind,
    /// The number in the file's name.
    pub(crate) number: u64,
    /// The valid length of the previous segment, in bytes. Zero in the first segment and in a
    /// snapshot.
    pub(crate) previous_end: u64,
}

/// The reason why a header can't be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    /// The header was damaged, or never written completely.
    Damaged,
    /// A newer release wrote the file, in this format version.
    Newer(u32),
}

impl FileHeader {
    pub(crate) const LENGTH: usize = 32;

    pub(crate) fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..].copy_from_slice(&self.previous_end.to_le_bytes());
        let checksum = file_checksum(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], kind: FileKind) -> Result<Self, BadHeader> {
        let bytes: &[u8; Self::LENGTH] = bytes.first_chunk().ok_or(BadHeader::Damaged)?;
        if bytes[..8] != *kind.magic() || u32_at(bytes, 12) != file_checksum(bytes) {
            return Err(BadHeader::Damaged);
        }
        match u32_at(bytes, 8) {
            VERSION => Ok(Self {
                kind,
                number: u64_at(bytes, 16),
                previous_end: u64_at(bytes, 24),
            }),
            // No release writes version 0.
            0 => Err(BadHeader::Damaged),
            version => Err(BadHeader::Newer(version)),
        }
    }
}

/// Computes the checksum of the header without the checksum field.
fn file_checksum(bytes: &[u8; FileHeader::LENGTH]) -> u32 {
    crc32c_append(crc32c(&bytes[..12]), &bytes[16..])
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// The length of the entries that follow, in bytes.
    pub(crate) length: u64,
    /// The number of bytes of this file that were durable when the frame was written.
    pub(crate) durable: u64,
    /// The checksum of the entries.
    pub(crate) checksum: u32,
}

impl FrameHeader {
    pub(crate) const LENGTH: usize = 24;

    /// Encodes the header for `offset` in file `number`. The checksum covers both, so that a frame
    /// at the wrong position is invalid.
    pub(crate) fn encode(&self, number: u64, offset: u64) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.durable.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = frame_checksum(&bytes, number, offset);
        bytes[20..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes the header at `offset` of `file`; `None` if there is no valid one.
    pub(crate) fn decode(file: &[u8], number: u64, offset: usize) -> Option<Self> {
        Self::decode_first(file.get(offset..)?, number, offset as u64)
    }

    /// Decodes the header at the start of `bytes`, which are at `offset` of file `number`.
    pub(crate) fn decode_first(bytes: &[u8], number: u64, offset: u64) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.first_chunk()?;
        let header = Self {
            length: u64_at(bytes, 0),
            durable: u64_at(bytes, 8),
            checksum: u32_at(bytes, 16),
        };
        // This check is cheap, and fails at nearly every offset without a header. So a search for
        // headers is fast.
        let plausible = header.length > 0 && header.durable <= offset;
        let valid = || u32_at(bytes, 20) == frame_checksum(bytes, number, offset);
        (plausible && valid()).then_some(header)
    }
}

fn frame_checksum(bytes: &[u8; FrameHeader::LENGTH], number: u64, offset: u64) -> u32 {
    let position = crc32c_append(crc32c(&number.to_le_bytes()), &offset.to_le_bytes());
    crc32c_append(position, &bytes[..20])
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(number)
}
