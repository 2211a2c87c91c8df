use std::sync::Arc;

use crate::Labels;
use crate::data::SeriesData;
use crate::heap::ALLOCATION;
use crate::key::Key;
use crate::sync::Mutex;

/// A series, shared by its shard, the index, write handles and readers: an immutable key and
/// labels, and the samples behind a lock.
///
/// A writer with a handle takes this lock, but not that of the shard, which writers of other series
/// share. That matters: a shard lock that two threads take alternately costs each of them as much
/// as the rest of the write.
#[derive(Debug)]
pub(crate) struct SeriesCell {
    pub(crate) key: Key,
    pub(crate) labels: Labels,
    /// May be locked under the shard's lock. Never take a shard's lock while holding this one; see
    /// the lock order in `db`.
    pub(crate) data: Mutex<SeriesData>,
}

impl SeriesCell {
    /// The bytes of a series without labels, index and samples: the cell, the two counters of its
    /// `Arc`, the allocation of its head, and the references in the shard's table and in the list of
    /// the index. Both have up to twice as much room as they need.
    pub(crate) const BYTES: usize = size_of::<Self>()
        + 2 * size_of::<usize>()
        + 2 * ALLOCATION
        + 2 * (2 * size_of::<Arc<Self>>() + 1);

    pub(crate) fn new(key: Key, labels: Labels, data: SeriesData) -> Self {
        Self {
            key,
            labels,
            data: Mutex::new(data),
        }
    }
}
