//! Which series have which labels.

mod list;
mod postings;
mod select;

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use postings::Postings;

use crate::Labels;
use crate::shard::Key;

/// An inverted index: for each label the series that have it.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: BTreeMap<Arc<str>, Values>,
    all: RoaringBitmap,
    /// By ordinal.
    entries: Vec<Option<Entry>>,
}

/// A series as the index knows it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) labels: Labels,
    pub(crate) key: Key,
}

/// The values of one label, in order, each with the series that have it.
type Values = BTreeMap<Arc<str>, Postings>;

/// What one series adds to the index, about: its entry, and a place in the postings of each label.
pub(crate) fn entry_bytes(labels: &Labels) -> usize {
    size_of::<Option<Entry>>() + labels.len() * size_of::<u32>()
}

impl Index {
    pub(crate) fn insert(&mut self, labels: &Labels, key: Key) {
        let ordinal = key.ordinal();
        for label in labels {
            let values = match self.names.get_mut(label.name) {
                Some(values) => values,
                None => self.names.entry(label.name.into()).or_default(),
            };
            match values.get_mut(label.value) {
                Some(series) => series.insert(ordinal),
                None => {
                    values.insert(label.value.into(), Postings::One(ordinal));
                }
            }
        }
        self.all.insert(ordinal);
        let place = ordinal as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, None);
        }
        let labels = labels.clone();
        self.entries[place] = Some(Entry { labels, key });
    }

    pub(crate) fn remove(&mut self, labels: &Labels, key: Key) {
        let ordinal = key.ordinal();
        for label in labels {
            let Some(values) = self.names.get_mut(label.name) else {
                continue;
            };
            if let Some(series) = values.get_mut(label.value)
                && series.remove(ordinal)
            {
                values.remove(label.value);
            }
            if values.is_empty() {
                self.names.remove(label.name);
            }
        }
        self.all.remove(ordinal);
        self.entries[ordinal as usize] = None;
        while let Some(None) = self.entries.last() {
            self.entries.pop();
        }
    }

    fn entry(&self, ordinal: u32) -> Option<&Entry> {
        self.entries.get(ordinal as usize)?.as_ref()
    }
}
