use std::ops::RangeInclusive;
use std::sync::Arc;

use super::SeriesData;
use crate::Sample;
use crate::chunk::block::Block;

/// What a series had in a range of time, at one moment. Blocks are shared and may reach beyond the
/// range; the samples of the head are copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) head: Vec<Sample>,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

impl Snapshot {
    /// The bytes that it keeps in memory, also when the series has ended.
    pub(crate) fn size_bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| block.size_bytes()).sum();
        blocks + self.head.capacity() * size_of::<Sample>()
    }

    /// How many samples there are in the range at most, and the times between which they all are.
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
        let (first_ms, last_ms) = times.fold((*to_ms, *from_ms), |(first_ms, last_ms), at| {
            (first_ms.min(at), last_ms.max(at))
        });
        let range = first_ms.max(*from_ms)..=last_ms.min(*to_ms);
        (in_blocks + head.len(), range)
    }
}

impl SeriesData {
    /// The samples from `from_ms` to `to_ms`, both included.
    pub(crate) fn snapshot(&mut self, from_ms: i64, to_ms: i64) -> Snapshot {
        self.settle();
        self.settled(from_ms, to_ms)
    }

    /// The same where no sample waits.
    pub(super) fn settled(&self, from_ms: i64, to_ms: i64) -> Snapshot {
        let start = self.blocks.partition_point(|block| block.last_ms < from_ms);
        let end = self.blocks.partition_point(|block| block.first_ms <= to_ms);
        let open = &self.open.block;
        let opened = open.count > 0 && open.last_ms >= from_ms && open.first_ms <= to_ms;
        let mut blocks = Vec::with_capacity(end.saturating_sub(start) + usize::from(opened));
        blocks.extend(self.blocks.iter().take(end).skip(start).cloned());
        if opened {
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
            head: self.head.get(start..end).unwrap_or_default().to_vec(),
            from_ms,
            to_ms,
        }
    }
}
