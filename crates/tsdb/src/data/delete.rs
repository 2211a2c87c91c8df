use std::ops::RangeInclusive;
use std::sync::Arc;

use super::SeriesData;
use crate::Sample;
use crate::chunk::block::{Block, OpenBlock};

impl SeriesData {
    /// Deletes the samples from `from_ms` to `to_ms`, both inclusive. Returns their number.
    pub(crate) fn delete(&mut self, from_ms: i64, to_ms: i64) -> usize {
        let range = from_ms..=to_ms;
        if range.is_empty() {
            return 0;
        }
        self.merge_late();
        let before = self.count();
        // Go backwards, because a replacement may shift the indexes of the blocks after it.
        for index in (0..self.blocks.len()).rev() {
            if let Some(kept) = kept(&self.blocks[index], &range) {
                self.replace_block(index, &kept);
            }
        }
        if let Some(kept) = kept(&self.open.block, &range) {
            self.replace_open(&kept);
        }
        self.head
            .retain(|sample| !range.contains(&sample.timestamp_ms));
        self.release();
        before - self.count()
    }

    /// Drops the oldest [`parts`](Self::parts), up to the first part for which `dead` returns
    /// `false`. `dead` receives the newest timestamp and the size of a part. Returns the number of
    /// samples dropped.
    pub(crate) fn prune(
        &mut self,
        ending: usize,
        mut dead: impl FnMut(i64, usize) -> bool,
    ) -> usize {
        self.merge_late();
        let before = self.count();
        let parts = self.parts(ending);
        let parts = parts.take_while(|(newest_ms, size)| dead(*newest_ms, *size));
        let mut parts = parts.count();
        let blocks = parts.min(self.blocks.len());
        for block in self.blocks.drain(..blocks) {
            self.sealed_bytes -= block.size_bytes();
        }
        // After the blocks come the open block, if it has samples, and the head.
        parts -= blocks;
        if parts > 0 && self.open.block.count > 0 {
            self.open = OpenBlock::EMPTY;
            parts -= 1;
        }
        if parts > 0 {
            self.head.clear();
        }
        self.release();
        before - self.count()
    }

    /// Frees the memory of deleted samples.
    fn release(&mut self) {
        if self.head.is_empty() {
            self.head = Vec::new();
        }
        // Shrinking copies the list, so shrink it only if most of its capacity is unused.
        if self.blocks.len() * 4 < self.blocks.capacity() {
            self.blocks.shrink_to_fit();
        }
        self.newest_ms = self.find_newest();
    }

    /// Counts the samples, without pending ones.
    fn count(&self) -> usize {
        let sealed: usize = self.blocks.iter().map(|block| block.count).sum();
        sealed + self.open.block.count + self.head.len()
    }

    /// Returns the newest timestamp and the size of each part that [`prune`](Self::prune) drops as
    /// a whole, oldest first. Pending late samples are not included. The size of the last part
    /// includes `ending`: the bytes beside the samples that the end of the series frees.
    pub(crate) fn parts(&self, ending: usize) -> impl Iterator<Item = (i64, usize)> {
        let blocks = self.blocks.iter().map(Arc::as_ref);
        let open = Some(&self.open.block).filter(|open| open.count > 0);
        let head = Some((self.newest_ms, self.head.capacity() * size_of::<Sample>()));
        let mut parts = blocks
            .chain(open)
            .map(|block| (block.last_ms, block.size_bytes()))
            .chain(head.filter(|(_, size)| *size > 0))
            .peekable();
        std::iter::from_fn(move || {
            let (newest_ms, size) = parts.next()?;
            let last = parts.peek().is_none();
            Some((newest_ms, size + if last { ending } else { 0 }))
        })
    }
}

/// Returns the samples of a block outside of `range`, or `None` if the block and the range do not
/// overlap.
fn kept(block: &Block, range: &RangeInclusive<i64>) -> Option<Vec<Sample>> {
    if block.count == 0 || block.last_ms < *range.start() || block.first_ms > *range.end() {
        return None;
    }
    let mut samples = Vec::with_capacity(block.count);
    block.decode_into(&mut samples);
    samples.retain(|sample| !range.contains(&sample.timestamp_ms));
    Some(samples)
}
