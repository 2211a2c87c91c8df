//! Samples that are older than the newest, or of its time.

use std::sync::Arc;

use super::{HEAD_SIZES, SeriesData};
use crate::chunk::FRAME;
use crate::chunk::block::{BLOCK, OpenBlock, compress};
use crate::{DuplicatePolicy, Sample};

/// The part of a series to which a sample belongs: the last that begins at its time or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Block(usize),
    Open,
    Head,
}

/// So many samples may wait at least, and a quarter of what is sealed: then a sample that is late
/// costs as much as four that are not, however long the series is.
const WAITING: usize = 1024;

impl SeriesData {
    /// Takes samples in any order, none of them newer than the newest.
    pub(super) fn insert_late(&mut self, samples: &[Sample]) {
        if self.duplicates == DuplicatePolicy::Reject {
            // Whether there is one of a time must be known at once.
            return self.merge(samples.to_vec());
        }
        // What belongs to the head goes there at once: all that waits is older than the head, so
        // that samples of one time stay in the order of their arrival.
        let first_ms = self.head_begins_ms();
        let of_head = |sample: &&Sample| first_ms.is_some_and(|first| sample.timestamp_ms >= first);
        let mut here: Vec<Sample> = samples.iter().filter(of_head).copied().collect();
        let older = samples.iter().filter(|sample| !of_head(sample));
        self.late.extend(older);
        if !here.is_empty() {
            here.sort_by_key(|sample| sample.timestamp_ms);
            self.merge_into(Part::Head, &here);
            self.newest_ms = self.find_newest();
        }
        if self.late.len() >= self.most_waiting() {
            self.settle();
        }
    }

    /// Whether those of `samples` that are older than the head need no memory.
    pub(super) fn has_room_for_late(&self, samples: &[Sample]) -> bool {
        if self.in_order(samples) == samples.len() {
            return true;
        }
        let first_ms = self.head_begins_ms();
        let older = samples
            .iter()
            .filter(|sample| first_ms.is_none_or(|first| sample.timestamp_ms < first));
        match older.count() {
            0 => true,
            // They go into their blocks at once.
            _ if self.duplicates == DuplicatePolicy::Reject => false,
            older => {
                let waiting = self.late.len() + older;
                waiting <= self.late.capacity() && waiting < self.most_waiting()
            }
        }
    }

    fn head_begins_ms(&self) -> Option<i64> {
        self.head.first().map(|first| first.timestamp_ms)
    }

    /// When so many samples wait, they are put where they belong.
    fn most_waiting(&self) -> usize {
        WAITING.max(self.blocks.len() * BLOCK / 4)
    }

    /// Puts samples that wait where they belong.
    pub(crate) fn settle(&mut self) {
        if !self.late.is_empty() {
            let late = std::mem::take(&mut self.late);
            self.merge(late);
        }
    }

    /// Each part that samples belong to is rewritten once.
    fn merge(&mut self, mut late: Vec<Sample>) {
        late.sort_by_key(|sample| sample.timestamp_ms);
        let mut rest = late.as_slice();
        // From the newest to the oldest, so that the numbers of the older blocks stay.
        while let Some(last) = rest.last() {
            let part = self.part_of(last.timestamp_ms);
            let start = rest.partition_point(|sample| self.part_of(sample.timestamp_ms) != part);
            let (older, those) = rest.split_at(start);
            self.merge_into(part, those);
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
            _ => Part::Block(before.saturating_sub(1)),
        }
    }

    fn merge_into(&mut self, part: Part, late: &[Sample]) {
        let duplicates = self.duplicates;
        let mut old = Vec::new();
        match part {
            Part::Block(index) => {
                self.blocks[index].decode_into(&mut old);
                self.replace_block(index, &merge(&old, late, duplicates));
            }
            Part::Open => {
                self.open.block.decode_into(&mut old);
                self.replace_open(&merge(&old, late, duplicates));
            }
            Part::Head => {
                let merged = merge(&self.head, late, duplicates);
                self.replace_head(&merged);
            }
        }
    }

    /// `samples` instead of one block's; none removes it.
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

/// `old` and `late`, both in order of time, in one order; of equal times the late come after.
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
