//! The series, as a follower of the log sees them.

use std::sync::Arc;

use super::{Db, Inner};
use crate::Labels;
use crate::journal::SeriesId;
use crate::shard::shard_of;

impl Db {
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Inner {
    /// The ids and labels of all series.
    pub(crate) fn series_ids(&self) -> impl Iterator<Item = (SeriesId, Labels)> + '_ {
        self.shards.iter().flat_map(|shard| {
            let shard = shard.0.lock();
            let series = shard.series();
            // Collected, so that the lock is released before the caller continues.
            let series: Vec<_> = series
                .map(|cell| (cell.key.id, cell.labels.clone()))
                .collect();
            series
        })
    }

    /// The labels of the series with these labels. They share its memory.
    pub(crate) fn shared_labels(&self, labels: &Labels) -> Option<Labels> {
        let shard = self.lock_shard(shard_of(labels.hash_code()));
        let found = shard.find(labels.borrowed());
        found.map(|cell| cell.labels.clone())
    }
}
