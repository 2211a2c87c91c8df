use crate::wal::FileHeader;

/// A place in the log, before a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The number of the segment.
    pub(super) segment: u64,
    /// The offset of the frame.
    pub(super) offset: u64,
    /// How many samples of the frame come before.
    pub(super) samples: u64,
}

impl Position {
    /// The start of a segment.
    pub(super) fn start_of(segment: u64) -> Self {
        Self::at(segment, FileHeader::LENGTH as u64)
    }

    /// The start of a frame.
    pub(super) fn at(segment: u64, offset: u64) -> Self {
        Self {
            segment,
            offset,
            samples: 0,
        }
    }
}
