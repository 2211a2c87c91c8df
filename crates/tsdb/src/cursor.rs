use std::ops::RangeInclusive;

use crate::chunk::FRAME;
use crate::chunk::block::{Block, FramePosition, INTACT};
use crate::chunk::frame::Columns;
use crate::data::Snapshot;

/// The samples of one series in a range, as they were when the cursor was made; see
/// [`SelectedSeries::cursor`](crate::SelectedSeries::cursor).
#[derive(Clone, Debug)]
pub struct Cursor {
    reader: SnapshotReader,
    columns: Columns,
}

/// A [`Cursor`] whose samples are decoded into a buffer of the caller's, so that thousands can be
/// open side by side.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotReader {
    snapshot: Snapshot,
    /// The block to read from next, or the number of blocks.
    block: usize,
    frame: Option<FramePosition>,
    /// How much of the head was given.
    head: usize,
}

/// Some consecutive samples, in ascending order of time.
#[derive(Clone, Copy, Debug)]
pub struct SampleBlock<'a> {
    /// When; as many as there are values.
    pub timestamps_ms: &'a [i64],
    /// What.
    pub values: &'a [f64],
}

/// What comes next in a range.
pub(crate) enum Piece<'a> {
    /// All of a block.
    Block(&'a Block),
    /// Samples.
    Samples(SampleBlock<'a>),
}

impl Cursor {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            reader: SnapshotReader::new(snapshot),
            columns: Columns::EMPTY,
        }
    }

    /// The next samples, at most 128, decoded into a buffer of the cursor; `None` after the last.
    /// Blocks are never empty.
    #[inline]
    pub fn next_block(&mut self) -> Option<SampleBlock<'_>> {
        self.reader.next_block(&mut self.columns)
    }

    /// The next block as a whole, if it is all in the range and `wanted`; else the next samples.
    pub(crate) fn next_piece(&mut self, wanted: impl FnOnce(&Block) -> bool) -> Option<Piece<'_>> {
        let reader = &mut self.reader;
        let whole = reader.frame.is_none() && reader.whole_block().is_some_and(wanted);
        if !whole {
            return reader.next_block(&mut self.columns).map(Piece::Samples);
        }
        reader.block += 1;
        Some(Piece::Block(&reader.snapshot.blocks[reader.block - 1]))
    }

    /// How many samples there are in the range at most, before the first was read; and the times
    /// between which they all are.
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

    /// The bytes of the samples that it keeps in memory.
    pub(crate) fn size_bytes(&self) -> usize {
        self.snapshot.size_bytes()
    }

    /// The next samples, as [`Cursor::next_block`] gives them.
    #[inline]
    pub(crate) fn next_block<'a>(&mut self, columns: &'a mut Columns) -> Option<SampleBlock<'a>> {
        while self.block < self.snapshot.blocks.len() {
            if let Some((start, end)) = self.decode_frame(columns) {
                return Some(columns.part(start, end));
            }
        }
        self.next_of_head(columns)
    }

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

    /// Decodes the next frame of the current block, or goes to the next block. Returns which of its
    /// samples are in the range, if any.
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
            return None;
        }
        frame.decode(columns).expect(INTACT);
        let times = &columns.timestamps_ms[..frame.count];
        let start = match first < *from_ms {
            true => times.partition_point(|at| at < from_ms),
            false => 0,
        };
        let end = match last > *to_ms {
            true => times.partition_point(|at| at <= to_ms),
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
