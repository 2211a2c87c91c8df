//! Blocks: sequences of frames with statistics.

use super::frame::{self, Columns, Frame};
use super::reader::Reader;
use super::stats::Stats;
use super::timestamps::Rhythm;
use super::values::ExponentCache;
use super::{FRAME, Malformed, SLACK};
use crate::Sample;

/// Maximum number of full frames in a block.
pub(crate) const BLOCK_FRAMES: usize = 16;

/// Maximum number of samples in a block.
pub(crate) const BLOCK: usize = BLOCK_FRAMES * FRAME;

/// Compressed samples in ascending order of time, with statistics.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) first_ms: i64,
    pub(crate) last_ms: i64,
    pub(crate) count: usize,
    pub(crate) stats: Stats,
    /// The frames, then the slack.
    payload: Vec<u8>,
}

/// A block that still grows.
#[derive(Clone, Debug)]
pub(crate) struct OpenBlock {
    pub(crate) block: Block,
    rhythm: Rhythm,
}

impl Block {
    const EMPTY: Self = Self {
        first_ms: 0,
        last_ms: 0,
        count: 0,
        stats: Stats::EMPTY,
        payload: Vec::new(),
    };

    /// Returns the position of the first frame.
    pub(crate) fn start(&self) -> FramePosition {
        FramePosition {
            offset: 0,
            rhythm: Rhythm::default(),
            left: self.count,
        }
    }

    /// Appends all samples to `samples`.
    pub(crate) fn decode_into(&self, samples: &mut Vec<Sample>) {
        let mut columns = Columns::EMPTY;
        let mut position = self.start();
        while let Some(frame) = position.next(self).expect(INTACT) {
            frame.decode(&mut columns).expect(INTACT);
            let times = &columns.timestamps_ms[..columns.count];
            let pairs = times.iter().zip(&columns.values);
            samples.extend(pairs.map(|(timestamp_ms, value)| Sample::new(*timestamp_ms, *value)));
        }
    }

    /// Returns the number of bytes that the frames occupy.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload.capacity()
    }

    /// Returns the bytes that the block occupies.
    pub(crate) fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.payload.capacity()
    }
}

/// The `expect` message for decoding. Blocks are never read from files, so each is as the encoder
/// wrote it.
pub(crate) const INTACT: &str = "a block in memory is intact";

/// A position in a block: before a frame, or at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePosition {
    offset: usize,
    rhythm: Rhythm,
    left: usize,
}

impl FramePosition {
    /// Returns the next frame. `block` must be the block of this position.
    #[inline]
    pub(crate) fn next<'a>(&mut self, block: &'a Block) -> Result<Option<Frame<'a>>, Malformed> {
        if self.left == 0 {
            return Ok(None);
        }
        let rest = block.payload.get(self.offset..).ok_or(Malformed)?;
        let mut reader = Reader { rest };
        let frame = Frame::read(&mut reader, block.first_ms, &mut self.rhythm)?;
        self.offset += rest.len() - reader.rest.len();
        self.left = self.left.checked_sub(frame.count).ok_or(Malformed)?;
        Ok(Some(frame))
    }
}

impl OpenBlock {
    pub(crate) const EMPTY: Self = Self {
        block: Block::EMPTY,
        rhythm: Rhythm {
            next: 0,
            step: None,
        },
    };

    /// Adds a frame of 1 to [`FRAME`] samples, not older than those in the block.
    pub(crate) fn push(&mut self, samples: &[Sample], cache: &mut ExponentCache) {
        let columns = Columns::from_samples(samples);
        let (first_ms, last_ms) = (
            samples[0].timestamp_ms,
            samples[samples.len() - 1].timestamp_ms,
        );
        let block = &mut self.block;
        if block.count == 0 {
            block.first_ms = first_ms;
        }
        block.last_ms = last_ms;
        block.count += columns.count;
        block.stats.extend(&columns.values[..columns.count]);
        // Encode into a separate buffer, because the payload reserves the exact size of the frame.
        let mut frame = Vec::with_capacity(2 * FRAME);
        frame::encode(
            &columns,
            block.first_ms,
            &mut self.rhythm,
            cache,
            &mut frame,
        );
        block
            .payload
            .truncate(block.payload.len().saturating_sub(SLACK));
        // Reserve no more: a block grows only a few times, and then stays in memory for a long
        // time.
        block.payload.reserve_exact(frame.len() + SLACK);
        block.payload.extend_from_slice(&frame);
        block.payload.extend_from_slice(&[0; SLACK]);
    }

    /// Returns `true` if another full frame does not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.block.count + FRAME > BLOCK
    }

    /// Takes the block, and leaves an empty one.
    pub(crate) fn seal(&mut self) -> Block {
        std::mem::replace(self, Self::EMPTY).block
    }
}

/// Compresses `samples` into as few blocks as possible, of about equal size.
pub(crate) fn compress(samples: &[Sample], cache: &mut ExponentCache) -> Vec<Block> {
    let blocks = samples.len().div_ceil(BLOCK).max(1);
    // `chunks` panics for a size of zero.
    let size = samples.len().div_ceil(blocks).max(1);
    let compress = |samples: &[Sample]| {
        let mut open = OpenBlock::EMPTY;
        samples
            .chunks(FRAME)
            .for_each(|frame| open.push(frame, cache));
        open.seal()
    };
    samples.chunks(size).map(compress).collect()
}
