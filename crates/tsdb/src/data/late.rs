//! Late samples. A sample is late if the series already has a sample with the same or a later
//! timestamp.
//!
//! Invariant: every pending sample (in `late`) is older than the head. So samples with equal
//! timestamps stay in order of arrival, which the duplicate policies depend on.
//! `tests/it/random_operations.rs` compares that order with a model under each policy.

use std::sync::Arc;

use super::{HEAD_SIZES, SeriesData};
use crate::chunk::FRAME;
use crate::chunk::block::{BLOCK, OpenBlock, compress};
use crate::{DuplicatePolicy, Sample};

/// A part of a series. A sample belongs to the last part that begins at its timestamp or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Block(usize),
    Open,
    Head,
}

/// Minimum number of pending samples that triggers a merge. In a long series, a merge starts when
/// the pending samples reach a quarter of the samples in blocks. A merge rewrites at most the whole
/// series. So the cost of each late sample is about that of compressing four samples, however long
/// the series is.
const MIN_PENDING: usize = 1024;

impl SeriesData {
    /// Inserts late samples, in any order.
    pub(super) fn insert_late(&mut self, samples: &[Sample]) {
        if self.duplicates == DuplicatePolicy::Reject {
            // `check` searches for duplicates without the pending samples, so none may be pending.
            return self.merge_samples(samples.to_vec());
        }
        // Samples that belong to the head go there at once, which keeps the invariant.
        let head_start = self.head_start_ms();
        let belongs_to_head =
            |sample: &&Sample| head_start.is_some_and(|start| sample.timestamp_ms >= start);
        let mut for_head: Vec<Sample> = samples.iter().filter(belongs_to_head).copied().collect();
        let older = samples.iter().filter(|sample| !belongs_to_head(sample));
        self.late.extend(older);
        if !for_head.is_empty() {
            for_head.sort_by_key(|sample| sample.timestamp_ms);
            self.merge_into(Part::Head, &for_head);
            self.newest_ms = self.find_newest();
        }
        if self.late.len() >= self.max_pending() {
            self.merge_late();
        }
    }

    /// Returns `true` if inserting `samples` allocates no memory for those older than the head.
    pub(super) fn has_room_for_late(&self, samples: &[Sample]) -> bool {
        if self.in_order(samples) == samples.len() {
            return true;
        }
        let head_start = self.head_start_ms();
        let older = samples
            .iter()
            .filter(|sample| head_start.is_none_or(|start| sample.timestamp_ms < start));
        match older.count() {
            0 => true,
            // Under this policy the samples are merged at once, which rewrites their blocks.
            _ if self.duplicates == DuplicatePolicy::Reject => false,
            older => {
                let pending = self.late.len() + older;
                pending <= self.late.capacity() && pending < self.max_pending()
            }
        }
    }

    fn head_start_ms(&self) -> Option<i64> {
        self.head.first().map(|first| first.timestamp_ms)
    }

    /// The number of pending samples that triggers a merge.
    fn max_pending(&self) -> usize {
        MIN_PENDING.max(self.blocks.len() * BLOCK / 4)
    }

    /// Merges the pending samples into the blocks that they belong to.
    pub(crate) fn merge_late(&mut self) {
        if !self.late.is_empty() {
            let late = std::mem::take(&mut self.late);
            self.merge_samples(late);
        }
    }

    /// Merges samples, and rewrites each affected part once.
    fn merge_samples(&mut self, mut late: Vec<Sample>) {
        late.sort_by_key(|sample| sample.timestamp_ms);
        let mut rest = late.as_slice();
        // Go from the newest part to the oldest: a rewrite shifts only the indexes of newer blocks.
        while let Some(last) = rest.last() {
            let part = self.part_of(last.timestamp_ms);
            let start = rest.partition_point(|sample| self.part_of(sample.timestamp_ms) != part);
            let (older, of_part) = rest.split_at(start);
            self.merge_into(part, of_part);
            rest = older;
        }
        self.newest_ms = self.find_newest();
    }

    fn part_of(&self, timestamp_ms: i64) -> Part {
        let blocks = self.blocks.len();
        let opened = self.open.block.count > 0;
        let first = self.head.first();
        if first.is_some_and(|first| first.timestamp_ms <= timestamp_ms) {
            return Part::Head;
        }
        if opened && (blocks == 0 || self.open.block.first_ms <= timestamp_ms) {
            return Part::Open;
        }
        let before = self
            .blocks
            .partition_point(|block| block.first_ms <= timestamp_ms);
        match blocks {
            0 => Part::Head,
            // A sample before the first block belongs to the first block.
            _ => Part::Block(before.saturating_sub(1)),
        }
    }

    fn merge_into(&mut self, part: Part, late: &[Sample]) {
        let mut decoded = Vec::new();
        let old = match part {
            Part::Block(index) => {
                self.blocks[index].decode_into(&mut decoded);
                &decoded
            }
            Part::Open => {
                self.open.block.decode_into(&mut decoded);
                &decoded
            }
            Part::Head => &self.head,
        };
        let merged = merge(old, late, self.duplicates);
        self.repeated += (old.len() + late.len() - merged.len()) as u32;
        match part {
            Part::Block(index) => self.replace_block(index, &merged),
            Part::Open => self.replace_open(&merged),
            Part::Head => self.replace_head(&merged),
        }
    }

    /// Replaces the samples of a block. Removes the block if `samples` is empty.
    pub(super) fn replace_block(&mut self, index: usize, samples: &[Sample]) {
        let new = compress(samples, &mut self.exponent);
        self.sealed_bytes -= self.blocks[index].size_bytes();
        self.sealed_bytes += new.iter().map(|block| block.size_bytes()).sum::<usize>();
        self.blocks
            .splice(index..=index, new.into_iter().map(Arc::new));
    }

    pub(super) fn replace_open(&mut self, samples: &[Sample]) {
        self.open = OpenBlock::EMPTY;
        samples
            .chunks(FRAME)
            .for_each(|frame| self.push_frame(frame));
    }

    pub(super) fn replace_head(&mut self, samples: &[Sample]) {
        // As in `make_room`, a full head is compressed only when one more sample arrives.
        let whole = samples.len().saturating_sub(1) / FRAME * FRAME;
        let (frames, rest) = samples.split_at(whole);
        frames
            .chunks(FRAME)
            .for_each(|frame| self.push_frame(frame));
        self.head.clear();
        let size = HEAD_SIZES.iter().find(|size| **size >= rest.len());
        self.head.reserve_exact(*size.unwrap_or(&FRAME));
        self.head.extend_from_slice(rest);
    }
}

/// Merges two lists in order of time. A late sample comes after an old one with the same timestamp.
fn merge(old: &[Sample], late: &[Sample], duplicates: DuplicatePolicy) -> Vec<Sample> {
    let mut merged = Vec::with_capacity(old.len() + late.len());
    let mut old = old;
    for &sample in late {
        let before = old.partition_point(|other| other.timestamp_ms <= sample.timestamp_ms);
        let (earlier, later) = old.split_at(before);
        merged.extend_from_slice(earlier);
        old = later;
        match merged.last_mut() {
            Some(same) if same.timestamp_ms == sample.timestamp_ms => match duplicates {
                DuplicatePolicy::LastWins => *same = sample,
                DuplicatePolicy::FirstWins => {}
                DuplicatePolicy::KeepAll | DuplicatePolicy::Reject => merged.push(sample),
            },
            _ => merged.push(sample),
        }
    }
    merged.extend_from_slice(old);
    merged
}
