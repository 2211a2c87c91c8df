use hashbrown::HashTable;

use crate::data::SeriesData;
use crate::journal::SeriesId;
use crate::labels::LabelsRef;

/// How many shards there are: enough that two writers rarely meet, few enough to visit them all.
pub(crate) const SHARDS: usize = 64;

/// Where a series is. The id tells whether it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: SeriesId,
    pub(crate) shard: u32,
    pub(crate) slot: u32,
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

const TAKEN: &str = "a slot in the table is not free";

/// Some of the series, under one lock.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    table: HashTable<u32>,
    slots: Vec<Option<SeriesData>>,
    free: Vec<u32>,
}

impl Shard {
    pub(crate) fn find(&self, labels: LabelsRef<'_>) -> Option<u32> {
        self.table
            .find(labels.hash_code(), |slot| {
                self.labels(*slot) == Some(labels)
            })
            .copied()
    }

    fn labels(&self, slot: u32) -> Option<LabelsRef<'_>> {
        let data = self.slots[slot as usize].as_ref()?;
        Some(data.labels.borrowed())
    }

    /// The series in `slot`, if it is still that one.
    pub(crate) fn get(&self, slot: u32, id: SeriesId) -> Option<&SeriesData> {
        self.slots
            .get(slot as usize)?
            .as_ref()
            .filter(|data| data.id == id)
    }

    pub(crate) fn get_mut(&mut self, slot: u32, id: SeriesId) -> Option<&mut SeriesData> {
        self.slots
            .get_mut(slot as usize)?
            .as_mut()
            .filter(|data| data.id == id)
    }

    /// The series in `slot`, which is not free.
    pub(crate) fn at(&mut self, slot: u32) -> &mut SeriesData {
        self.slots[slot as usize].as_mut().expect(TAKEN)
    }

    pub(crate) fn insert(&mut self, data: SeriesData) -> u32 {
        let hash = data.labels.hash_code();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(data);
        let Self { table, slots, .. } = self;
        table.insert_unique(hash, slot, |slot| {
            slots[*slot as usize]
                .as_ref()
                .map_or(0, |data| data.labels.hash_code())
        });
        slot
    }

    /// Frees a slot that is in the table.
    pub(crate) fn remove(&mut self, slot: u32) -> SeriesData {
        let data = self.slots[slot as usize].take().expect(TAKEN);
        let hash = data.labels.hash_code();
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        self.free.push(slot);
        data
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = (u32, &SeriesData)> {
        (0..)
            .zip(&self.slots)
            .filter_map(|(slot, data)| Some((slot, data.as_ref()?)))
    }

    pub(crate) fn series_mut(&mut self) -> impl Iterator<Item = (u32, &mut SeriesData)> {
        (0..)
            .zip(&mut self.slots)
            .filter_map(|(slot, data)| Some((slot, data.as_mut()?)))
    }
}
