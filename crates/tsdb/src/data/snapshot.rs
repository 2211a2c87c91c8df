//! Consistent views of a series for readers.
//!
//! Invariant: no lock is held while samples are decoded. Under one lock of the series, a read
//! copies the head and shares the blocks. A shared block never changes: a merge or a deletion puts
//! a new block in its place. `tests/model` fails if a reader sees a series between two changes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::SeriesData;
use crate::Sample;
use crate::chunk::block::Block;

/// The samples of a series in a range of time, at one moment. The blocks are shared and may extend
/// beyond the range. The samples of the head are copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) head: Vec<Sample>,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

impl Snapshot {
    /// Returns the bytes that the snapshot keeps in memory, even after the series has ended.
    #[cfg(feature = "wire")]
    pub(crate) fn size_bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| block.size_bytes()).sum();
        blocks + self.head.capacity() * size_of::<Sample>()
    }

    /// Returns an upper bound for the number of samples in the range, and a range of timestamps
    /// that contains them all.
    pub(crate) fn most_samples(&self) -> (usize, RangeInclusive<i64>) {
        let Snapshot {
            blocks,
            head,
            from_ms,
            to_ms,
        } = self;
        let in_blocks: usize = blocks.iter().map(|block| block.count).sum();
        let times_of_blocks = blocks
            .iter()
            .flat_map(|block| [block.first_ms, block.last_ms]);
        let times_of_head = [head.first(), head.last()];
        let times_of_head = times_of_head.into_iter().flatten();
        let times = times_of_blocks.chain(times_of_head.map(|sample| sample.timestamp_ms));
        let (first_ms, last_ms) = times.fold((*to_ms, *from_ms), |(first_ms, last_ms), time_ms| {
            (first_ms.min(time_ms), last_ms.max(time_ms))
        });
        let range = first_ms.max(*from_ms)..=last_ms.min(*to_ms);
        (in_blocks + head.len(), range)
    }
}

impl SeriesData {
    /// Returns the samples from `from_ms` to `to_ms`, both inclusive.
    pub(crate) fn snapshot(&mut self, from_ms: i64, to_ms: i64) -> Snapshot {
        self.merge_late();
        self.snapshot_merged(from_ms, to_ms)
    }

    /// Does the same as [`snapshot`](Self::snapshot) for a series without pending late samples.
    pub(super) fn snapshot_merged(&self, from_ms: i64, to_ms: i64) -> Snapshot {
        let start = self.blocks.partition_point(|block| block.last_ms < from_ms);
        let end = self.blocks.partition_point(|block| block.first_ms <= to_ms);
        let open = &self.open.block;
        let opened = open.count > 0 && open.last_ms >= from_ms && open.first_ms <= to_ms;
        let mut blocks = Vec::with_capacity(end.saturating_sub(start) + usize::from(opened));
        blocks.extend(self.blocks.iter().take(end).skip(start).cloned());
        if opened {
            // The open block still grows, so it is copied.
            blocks.push(Arc::new(open.clone()));
        }
        let start = self
            .head
            .partition_point(|sample| sample.timestamp_ms < from_ms);
        let end = self
            .head
            .partition_point(|sample| sample.timestamp_ms <= to_ms);
        Snapshot {
            blocks,
            // `start` may be after `end` if `from_ms` is after `to_ms`. Then `get` returns `None`.
            head: self.head.get(start..end).unwrap_or_default().to_vec(),
            from_ms,
            to_ms,
        }
    }
}
