//! The table of series, split by the hash of the labels.
//!
//! Invariant: a series begins and ends under its shard's lock, and ends under its own lock too. So
//! a series found in a locked shard can't end, and two writers can't begin the same series.
//! `tests/model` fails without it.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::LabelsRef;
use crate::journal::SeriesId;
use crate::key::{Key, SHARDS};
use crate::series_cell::SeriesCell;

/// Returns the shard for a hash of labels.
pub(crate) fn shard_of(hash: u64) -> usize {
    // The shards' tables use the lowest and the highest bits, so take bits from the middle.
    (hash >> 40) as usize % SHARDS
}

/// The series of one shard. Its lock guards lookups, and the beginning and end of its series.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    table: HashTable<Arc<SeriesCell>>,
    /// The unused slots below `slots`.
    free: Vec<u32>,
    slots: u32,
}

impl Shard {
    pub(crate) fn find(&self, labels: LabelsRef<'_>) -> Option<&Arc<SeriesCell>> {
        self.table
            .find(labels.hash_code(), |cell| cell.labels.borrowed() == labels)
    }

    /// Inserts a series. The shard must not hold one with the same labels.
    pub(crate) fn insert(&mut self, cell: Arc<SeriesCell>) {
        self.table
            .insert_unique(cell.labels.hash_code(), cell, |cell| {
                cell.labels.hash_code()
            });
    }

    pub(crate) fn remove(&mut self, cell: &SeriesCell) {
        let same_cell = |other: &Arc<SeriesCell>| std::ptr::eq(&**other, cell);
        if let Ok(entry) = self.table.find_entry(cell.labels.hash_code(), same_cell) {
            entry.remove();
        }
        if self.table.len() * 8 < self.table.capacity() {
            let hash = |cell: &Arc<SeriesCell>| cell.labels.hash_code();
            self.table.shrink_to(self.table.len() * 2, hash);
        }
        self.free_key(cell.key);
    }

    /// Takes a key for a new series. `shard` is the number of this shard.
    pub(crate) fn take_key(&mut self, id: SeriesId, shard: usize) -> Key {
        // Reused slots keep the ordinals dense, and so the bitmaps of the index stay small.
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

    /// Makes the slot of a key from [`take_key`](Self::take_key) available again.
    pub(crate) fn free_key(&mut self, key: Key) {
        self.free.push(key.slot);
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = &Arc<SeriesCell>> {
        self.table.iter()
    }
}
