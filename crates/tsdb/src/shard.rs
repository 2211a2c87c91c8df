use std::sync::Arc;

use hashbrown::HashTable;

use crate::journal::SeriesId;
use crate::labels::LabelsRef;
use crate::series_cell::SeriesCell;

/// How many shards there are: enough that two writers rarely meet, few enough to visit them all.
pub(crate) const SHARDS: usize = 64;

/// Which series it is, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) id: SeriesId,
    pub(crate) shard: u32,
    /// Its number in the shard: a small one, free for another when the series has ended.
    slot: u32,
}

impl Key {
    /// A number for the index: dense, as slots are used again and the shards fill evenly.
    pub(crate) fn ordinal(self) -> u32 {
        self.slot * SHARDS as u32 + self.shard
    }
}

/// The shard of a series, by the hash of its labels. The low bits are for the tables.
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// Some of the series, under one lock, which all take who look a series up, begin or end one.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    table: HashTable<Arc<SeriesCell>>,
    /// The slots below `slots` that no series has.
    free: Vec<u32>,
    slots: u32,
}

impl Shard {
    pub(crate) fn find(&self, labels: LabelsRef<'_>) -> Option<&Arc<SeriesCell>> {
        self.table
            .find(labels.hash_code(), |cell| cell.labels.borrowed() == labels)
    }

    /// Inserts a series, of which there is none yet.
    pub(crate) fn insert(&mut self, cell: Arc<SeriesCell>) {
        self.table
            .insert_unique(cell.labels.hash_code(), cell, |cell| {
                cell.labels.hash_code()
            });
    }

    pub(crate) fn remove(&mut self, cell: &SeriesCell) {
        let is = |other: &Arc<SeriesCell>| std::ptr::eq(&**other, cell);
        if let Ok(entry) = self.table.find_entry(cell.labels.hash_code(), is) {
            entry.remove();
        }
        self.free_key(cell.key);
    }

    /// A key for a series that begins in this shard, of number `shard`.
    pub(crate) fn take_key(&mut self, id: SeriesId, shard: usize) -> Key {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        Key {
            id,
            shard: shard as u32,
            slot,
        }
    }

    /// Gives back a key that [`take_key`](Self::take_key) made.
    pub(crate) fn free_key(&mut self, key: Key) {
        self.free.push(key.slot);
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = &Arc<SeriesCell>> {
        self.table.iter()
    }
}
