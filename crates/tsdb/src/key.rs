use crate::journal::SeriesId;

/// The number of shards: enough that two writers rarely need the same one, few enough to visit all.
pub(crate) const SHARDS: usize = 64;

/// Identifies a series and locates it in its shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) id: SeriesId,
    pub(crate) shard: u32,
    /// A small number within the shard. Reused after the series has ended.
    pub(crate) slot: u32,
}

impl Key {
    /// The number of the series in the index. These numbers are dense, because slots are reused and
    /// shards fill evenly.
    pub(crate) fn ordinal(self) -> u32 {
        self.slot * SHARDS as u32 + self.shard
    }
}
