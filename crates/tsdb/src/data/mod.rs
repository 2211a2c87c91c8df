//! The samples of one series: sealed blocks, one open block that grows by frames, and a head of
//! uncompressed samples.
//!
//! ```text
//! blocks: 2,048 samples each, shared with readers │ open: up to 15 frames of 128 │ head: up to 128
//! ```
//!
//! All three are in ascending order of time, and each begins where the one before ends. New samples
//! that are older than the head wait in a separate list. They are merged into their blocks when
//! there are many, and before every read.

mod check;
mod delete;
mod late;
mod snapshot;

use std::sync::Arc;

pub(crate) use snapshot::Snapshot;

use crate::chunk::FRAME;
use crate::chunk::block::{Block, OpenBlock};
use crate::chunk::values::ExponentCache;
use crate::{DuplicatePolicy, Sample};

/// The capacities of a head. A head starts small, so that a series with few samples uses little
/// memory.
const HEAD_SIZES: [usize; 3] = [16, 64, FRAME];

/// The samples of one series.
#[derive(Debug)]
pub(crate) struct SeriesData {
    /// The greatest timestamp. Meaningless while there is no sample.
    newest_ms: i64,
    head: Vec<Sample>,
    exponent: ExponentCache,
    /// Whether the series has ended. An ended series accepts no samples. A writer that finds it
    /// ended looks up the labels again.
    ended: bool,
    blocks: Vec<Arc<Block>>,
    /// The sum of the sizes of `blocks`.
    sealed_bytes: usize,
    open: OpenBlock,
    /// Pending samples, older than the head, in order of arrival.
    late: Vec<Sample>,
    duplicates: DuplicatePolicy,
    /// The samples that merges have replaced or dropped, since the last
    /// [`take_repeated`](Self::take_repeated).
    repeated: u32,
}

impl SeriesData {
    pub(crate) fn new(duplicates: DuplicatePolicy) -> Self {
        Self {
            newest_ms: 0,
            head: Vec::new(),
            exponent: ExponentCache::default(),
            ended: false,
            blocks: Vec::new(),
            sealed_bytes: 0,
            open: OpenBlock::EMPTY,
            late: Vec::new(),
            duplicates,
            repeated: 0,
        }
    }

    /// Ends the series, and drops the remaining samples.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.head = Vec::new();
        self.late = Vec::new();
        self.open = OpenBlock::EMPTY;
        self.blocks = Vec::new();
        self.sealed_bytes = 0;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn take_repeated(&mut self) -> usize {
        std::mem::take(&mut self.repeated) as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        // A series with pending samples also has newer samples, so there is no need to check
        // `late`.
        self.head.is_empty() && self.open.block.count == 0 && self.blocks.is_empty()
    }

    /// Returns the greatest timestamp. Meaningless without samples.
    #[cfg(feature = "wire")]
    pub(crate) fn newest_ms(&self) -> i64 {
        self.newest_ms
    }

    /// Returns the bytes that the samples occupy.
    pub(crate) fn size_bytes(&self) -> usize {
        self.sealed_bytes
            + self.blocks.capacity() * size_of::<Arc<Block>>()
            + self.open.block.payload_bytes()
            + (self.head.capacity() + self.late.capacity()) * size_of::<Sample>()
    }

    /// Returns the number of blocks and heads, and the oldest and the newest timestamp.
    pub(crate) fn extent(&self) -> (usize, Option<(i64, i64)>) {
        let open = Some(&self.open.block).filter(|open| open.count > 0);
        let mut blocks = self.blocks.iter().map(Arc::as_ref).chain(open);
        let parts = blocks.clone().count() + usize::from(!self.head.is_empty());
        let first = blocks.next().map(|block| block.first_ms);
        let first = first.or(self.head.first().map(|sample| sample.timestamp_ms));
        // Pending samples are older than the head, and maybe than everything else.
        let late = self.late.iter().map(|sample| sample.timestamp_ms).min();
        let oldest_ms = first.into_iter().chain(late).min();
        (
            parts,
            oldest_ms.map(|oldest_ms| (oldest_ms, self.newest_ms)),
        )
    }

    /// Returns `true` if inserting `samples` needs no memory.
    pub(crate) fn has_room(&self, samples: &[Sample]) -> bool {
        let free = self.head.capacity() - self.head.len();
        free >= samples.len() && self.has_room_for_late(samples)
    }

    /// Returns `true` if `sample` is newer than all others and needs no memory.
    #[inline]
    pub(crate) fn can_push(&self, sample: Sample) -> bool {
        // Empty and ended series have a head without capacity, so this excludes both.
        self.head.len() < self.head.capacity() && sample.timestamp_ms > self.newest_ms
    }

    /// Appends a sample that [`can_push`](Self::can_push) accepts.
    #[inline]
    pub(crate) fn push(&mut self, sample: Sample) {
        self.newest_ms = sample.timestamp_ms;
        self.head.push(sample);
    }

    /// Inserts samples in order of arrival. [`check`](Self::check) must have accepted them, now or
    /// before they were logged.
    pub(crate) fn insert_unchecked(&mut self, mut samples: &[Sample]) {
        while !samples.is_empty() {
            let (newer, rest) = samples.split_at(self.in_order(samples));
            self.append(newer);
            // Insert the late samples together, up to the next sample that is in order, because
            // each call may rewrite blocks.
            let follows = |sample: &Sample| self.follows(self.newest_ms, sample.timestamp_ms);
            let late = rest.iter().position(follows).unwrap_or(rest.len());
            let (late, rest) = rest.split_at(late);
            if !late.is_empty() {
                self.insert_late(late);
            }
            samples = rest;
        }
    }

    /// Returns how many samples from the start of `samples` can be appended in order.
    fn in_order(&self, samples: &[Sample]) -> usize {
        let Some(first) = samples.first() else {
            return 0;
        };
        if !self.is_empty() && !self.follows(self.newest_ms, first.timestamp_ms) {
            return 0;
        }
        samples
            .array_windows()
            .position(|[a, b]| !self.follows(a.timestamp_ms, b.timestamp_ms))
            .map_or(samples.len(), |breaks| breaks + 1)
    }

    /// Returns `true` if a sample at `after` can be appended to one at `before`.
    fn follows(&self, before: i64, after: i64) -> bool {
        after > before || (after == before && self.duplicates == DuplicatePolicy::KeepAll)
    }

    /// Appends samples that [follow](Self::follows) each other and the newest sample.
    fn append(&mut self, mut samples: &[Sample]) {
        let Some(last) = samples.last() else { return };
        self.newest_ms = last.timestamp_ms;
        while !samples.is_empty() {
            // Whole frames need not pass through the head.
            if self.head.is_empty() && samples.len() >= FRAME {
                let (frame, rest) = samples.split_at(FRAME);
                self.push_frame(frame);
                samples = rest;
                continue;
            }
            let room = self.make_room(samples.len());
            let (fitting, rest) = samples.split_at(room.min(samples.len()));
            self.head.extend_from_slice(fitting);
            samples = rest;
        }
    }

    /// Makes room in the head for up to `wanted` samples. Returns how many fit, which is at least
    /// 1.
    fn make_room(&mut self, wanted: usize) -> usize {
        let length = self.head.len();
        if length == self.head.capacity() {
            if length >= FRAME {
                self.compress_head();
            } else {
                let wanted = length + wanted;
                let size = HEAD_SIZES.iter().find(|size| **size >= wanted);
                self.head.reserve_exact(size.unwrap_or(&FRAME) - length);
            }
        }
        self.head.capacity() - self.head.len()
    }

    fn compress_head(&mut self) {
        let mut head = std::mem::take(&mut self.head);
        head.chunks(FRAME).for_each(|frame| self.push_frame(frame));
        // Put the allocation back: `can_push` needs the capacity.
        head.clear();
        self.head = head;
    }

    /// Adds a frame to the open block. The frame has between one and [`FRAME`] samples.
    fn push_frame(&mut self, frame: &[Sample]) {
        if self.open.is_full() {
            self.seal();
        }
        self.open.push(frame, &mut self.exponent);
        if self.open.is_full() {
            self.seal();
        }
    }

    fn seal(&mut self) {
        let block = self.open.seal();
        self.sealed_bytes += block.size_bytes();
        self.blocks.push(Arc::new(block));
    }

    /// Returns the greatest timestamp of a series that has samples.
    fn find_newest(&self) -> i64 {
        if let Some(last) = self.head.last() {
            last.timestamp_ms
        } else if self.open.block.count > 0 {
            self.open.block.last_ms
        } else {
            self.blocks.last().map_or(0, |block| block.last_ms)
        }
    }
}
