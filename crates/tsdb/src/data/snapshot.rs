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
