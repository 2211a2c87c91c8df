use std::sync::Arc;

use crate::Labels;
use crate::data::SeriesData;
use crate::shard::Key;
use crate::sync::Mutex;

/// A series as its shard, its writers' handles and its readers share it: what never changes of it,
/// and its samples under a lock of their own.
///
/// So writers with handles wait only for who is at the same series, and take no lock that the writers
/// of other series do. That counts: a shard's lock that two threads take by turns costs each as much
/// as the rest of a write.
#[derive(Debug)]
pub(crate) struct SeriesCell {
    pub(crate) key: Key,
    pub(crate) labels: Labels,
    /// Taken inside the shard's lock or without it; no shard's lock is taken inside.
    pub(crate) data: Mutex<SeriesData>,
}

impl SeriesCell {
    /// The bytes of a series beside what it points to: itself, with the counts of its references,
    /// and its places in the shard's table and in the index.
    pub(crate) const BYTES: usize =
        size_of::<Self>() + 2 * size_of::<usize>() + 2 * size_of::<Arc<Self>>();

    pub(crate) fn new(key: Key, labels: Labels, data: SeriesData) -> Self {
        Self {
            key,
            labels,
            data: Mutex::new(data),
        }
    }
}
