use std::ops::RangeInclusive;

use crate::chunk::FRAME;
use crate::chunk::block::{Block, FramePosition, INTACT};
use crate::chunk::frame::Columns;
use crate::data::Snapshot;

/// The samples of one series in a range, as they were when the cursor was made; see
/// [`SelectedSeries::cursor`](crate::SelectedSeries::cursor).
#[derive(Clone, Debug)]
pub struct Cursor {
    snapshot: Snapshot,
    /// The block to read from next, or the number of blocks.
    block: usize,
    frame: Option<FramePosition>,
    /// How much of the head was given.
    head: usize,
    columns: Columns,
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
            snapshot,
            block: 0,
            frame: None,
            head: 0,
            columns: Columns::EMPTY,
        }
    }

    /// The next samples, at most 128, decoded into a buffer of the cursor; `None` after the last.
    /// Blocks are never empty.
    #[inline]
    pub fn next_block(&mut self) -> Option<SampleBlock<'_>> {
        while self.block < self.snapshot.blocks.len() {
            if let Some((start, end)) = self.decode_frame() {
                return Some(self.columns.part(start, end));
            }
        }
        self.next_of_head()
    }

    /// The next block as a whole, if it is all in the range and `wanted`; else the next samples.
    pub(crate) fn next_piece(&mut self, wanted: impl FnOnce(&Block) -> bool) -> Option<Piece<'_>> {
        let whole = self.frame.is_none() && self.whole_block().is_some_and(wanted);
        if !whole {
            return self.next_block().map(Piece::Samples);
        }
        self.block += 1;
        Some(Piece::Block(&self.snapshot.blocks[self.block - 1]))
    }

    /// How many samples there are in the range at most, before the first was read; and the times
    /// between which they all are.
    pub(crate) fn most_samples(&self) -> (usize, RangeInclusive<i64>) {
        let Snapshot {
            blocks,
            head,
            from_ms,
            to_ms,
        } = &self.snapshot;
        let in_blocks: usize = blocks.iter().map(|block| block.count).sum();
        let times_of_blocks = blocks
            .iter()
            .flat_map(|block| [block.first_ms, block.last_ms]);
        let times_of_head = [head.first(), head.last()];
        let times_of_head = times_of_head.into_iter().flatten();
        let times = times_of_blocks.chain(times_of_head.map(|sample| sample.timestamp_ms));
        let (first_ms, last_ms) = times.fold((*to_ms, *from_ms), |(first_ms, last_ms), at| {
            (first_ms.min(at), last_ms.max(at))
        });
        let range = first_ms.max(*from_ms)..=last_ms.min(*to_ms);
        (in_blocks + head.len(), range)
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
    fn decode_frame(&mut self) -> Option<(usize, usize)> {
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
        frame.decode(&mut self.columns).expect(INTACT);
        let times = &self.columns.timestamps_ms[..frame.count];
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

    fn next_of_head(&mut self) -> Option<SampleBlock<'_>> {
        let rest = &self.snapshot.head[self.head..];
        if rest.is_empty() {
            return None;
        }
        let rest = &rest[..rest.len().min(FRAME)];
        self.head += rest.len();
        self.columns = Columns::of(rest);
        Some(self.columns.part(0, rest.len()))
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
