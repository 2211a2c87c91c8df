//! The inverted index from labels to series.

mod cardinality;
mod list;
mod postings;
mod select;

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use postings::Postings;

use crate::Labels;
use crate::series_cell::SeriesCell;

/// For each label, the series that have it.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: BTreeMap<Arc<str>, Values>,
    /// The ordinals of all series.
    all: RoaringBitmap,
    /// The series by ordinal.
    series: Vec<Option<Arc<SeriesCell>>>,
}

/// The values of one label, sorted, each with the series that have it.
type Values = BTreeMap<Arc<str>, Postings>;

/// Estimates the bytes of the postings of one series: one number per label.
pub(crate) fn postings_bytes(labels: &Labels) -> usize {
    labels.len() * size_of::<u32>()
}

impl Index {
    pub(crate) fn insert(&mut self, cell: Arc<SeriesCell>) {
        let ordinal = cell.key.ordinal();
        for label in &cell.labels {
            // Try `get_mut` before `entry`: `entry` would copy the name, which is usually there.
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
        let index = ordinal as usize;
        if self.series.len() <= index {
            self.series.resize(index + 1, None);
        }
        self.series[index] = Some(cell);
    }

    pub(crate) fn remove(&mut self, cell: &SeriesCell) {
        let ordinal = cell.key.ordinal();
        for label in &cell.labels {
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
        self.series[ordinal as usize] = None;
        // Free the unused ordinals at the end. Those in the middle stay, for later series.
        while let Some(None) = self.series.last() {
            self.series.pop();
        }
    }

    fn get(&self, ordinal: u32) -> Option<&Arc<SeriesCell>> {
        self.series.get(ordinal as usize)?.as_ref()
    }
}
