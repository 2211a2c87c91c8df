use std::ops::RangeInclusive;

use crate::chunk::FRAME;
use crate::chunk::block::{Block, FramePosition, INTACT};
use crate::chunk::frame::Columns;
use crate::data::Snapshot;

/// Reads the samples of one series in a range, as they were when the cursor was created. Created by
/// [`SelectedSeries::cursor`](crate::SelectedSeries::cursor).
#[derive(Clone, Debug)]
pub struct Cursor {
    reader: SnapshotReader,
    columns: Columns,
}

/// A [`Cursor`] without a buffer: it decodes into a buffer of the caller. Thousands of readers can
/// be open at once and share one buffer.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotReader {
    snapshot: Snapshot,
    /// The index of the block to read next. At the end it is the number of blocks.
    block: usize,
    /// The position in that block; `None` at its start.
    frame: Option<FramePosition>,
    /// The number of samples of the head already returned.
    head: usize,
}

/// Consecutive samples, in ascending order of time, as two slices of equal length.
#[derive(Clone, Copy, Debug)]
pub struct SampleBlock<'a> {
    /// The timestamps.
    pub timestamps_ms: &'a [i64],
    /// The values.
    pub values: &'a [f64],
}

/// The next part of a range: decoded samples, or a block whose statistics may be enough.
pub(crate) enum Piece<'a> {
    Block(&'a Block),
    Samples(SampleBlock<'a>),
}

impl Cursor {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            reader: SnapshotReader::new(snapshot),
            columns: Columns::EMPTY,
        }
    }

    /// Returns the next 1 to 128 samples, or `None` at the end.
    #[inline]
    pub fn next_block(&mut self) -> Option<SampleBlock<'_>> {
        self.reader.next_block(&mut self.columns)
    }

    /// Returns the next block without decoding it, if the range covers it and `wanted` accepts it.
    /// Otherwise returns the next samples.
    pub(crate) fn next_piece(&mut self, wanted: impl FnOnce(&Block) -> bool) -> Option<Piece<'_>> {
        let reader = &mut self.reader;
        // If frames of the block were returned already, the rest must be decoded too.
        let whole = reader.frame.is_none() && reader.whole_block().is_some_and(wanted);
        if !whole {
            return reader.next_block(&mut self.columns).map(Piece::Samples);
        }
        reader.block += 1;
        Some(Piece::Block(&reader.snapshot.blocks[reader.block - 1]))
    }

    /// Returns an upper bound for the number of samples in the range, read or not, and a range of
    /// timestamps that contains them all.
    pub(crate) fn most_samples(&self) -> (usize, RangeInclusive<i64>) {
        self.reader.snapshot.most_samples()
    }
}

impl SnapshotReader {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            block: 0,
            frame: None,
            head: 0,
        }
    }

    /// Returns the bytes of the samples that the reader keeps in memory.
    #[cfg(feature = "wire")]
    pub(crate) fn size_bytes(&self) -> usize {
        self.snapshot.size_bytes()
    }

    /// Decodes the next samples into `columns`; see [`Cursor::next_block`].
    #[inline]
    pub(crate) fn next_block<'a>(&mut self, columns: &'a mut Columns) -> Option<SampleBlock<'a>> {
        while self.block < self.snapshot.blocks.len() {
            if let Some((start, end)) = self.decode_frame(columns) {
                return Some(columns.part(start, end));
            }
        }
        self.next_of_head(columns)
    }

    /// Returns the current block if the range covers it.
    fn whole_block(&self) -> Option<&Block> {
        let Snapshot {
            blocks,
            from_ms,
            to_ms,
            ..
        } = &self.snapshot;
        let block = blocks.get(self.block)?;
        (*from_ms <= block.first_ms && block.last_ms <= *to_ms).then_some(block)
    }

    /// Decodes the next frame of the current block, or moves on to the next block. Returns which
    /// samples of the frame are in the range, if any.
    #[inline]
    fn decode_frame(&mut self, columns: &mut Columns) -> Option<(usize, usize)> {
        let Snapshot {
            blocks,
            from_ms,
            to_ms,
            ..
        } = &self.snapshot;
        let block = &blocks[self.block];
        let position = self.frame.get_or_insert_with(|| block.start());
        let Some(frame) = position.next(block).expect(INTACT) else {
            self.block += 1;
            self.frame = None;
            return None;
        };
        let (first, last) = (frame.timestamps.first, frame.timestamps.last);
        if last < *from_ms || first > *to_ms {
            // The header shows that the frame is outside the range, so don't decode the frame.
            return None;
        }
        frame.decode(columns).expect(INTACT);
        let times = &columns.timestamps_ms[..frame.count];
        let start = match first < *from_ms {
            true => times.partition_point(|time_ms| time_ms < from_ms),
            false => 0,
        };
        let end = match last > *to_ms {
            true => times.partition_point(|time_ms| time_ms <= to_ms),
            false => frame.count,
        };
        (start < end).then_some((start, end))
    }

    fn next_of_head<'a>(&mut self, columns: &'a mut Columns) -> Option<SampleBlock<'a>> {
        let rest = &self.snapshot.head[self.head..];
        if rest.is_empty() {
            return None;
        }
        let rest = &rest[..rest.len().min(FRAME)];
        self.head += rest.len();
        columns.fill(rest);
        Some(columns.part(0, rest.len()))
    }
}

impl Columns {
    fn part(&self, start: usize, end: usize) -> SampleBlock<'_> {
        SampleBlock {
            timestamps_ms: &self.timestamps_ms[start..end],
            values: &self.values[start..end],
        }
    }
}
