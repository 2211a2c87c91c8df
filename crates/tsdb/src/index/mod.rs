//! Which series have which labels.

mod list;
mod postings;
mod select;

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use postings::Postings;

use crate::Labels;
use crate::series_cell::SeriesCell;

/// An inverted index: for each label the series that have it.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: BTreeMap<Arc<str>, Values>,
    all: RoaringBitmap,
    /// By ordinal.
    series: Vec<Option<Arc<SeriesCell>>>,
}

/// The values of one label, in order, each with the series that have it.
type Values = BTreeMap<Arc<str>, Postings>;

/// What one series adds to the index beside its place in it, about: a number for each label.
pub(crate) fn postings_bytes(labels: &Labels) -> usize {
    labels.len() * size_of::<u32>()
}

impl Index {
    pub(crate) fn insert(&mut self, cell: Arc<SeriesCell>) {
        let ordinal = cell.key.ordinal();
        for label in &cell.labels {
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
        if self.series.len() <= place {
            self.series.resize(place + 1, None);
        }
        self.series[place] = Some(cell);
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
        while let Some(None) = self.series.last() {
            self.series.pop();
        }
    }

    fn get(&self, ordinal: u32) -> Option<&Arc<SeriesCell>> {
        self.series.get(ordinal as usize)?.as_ref()
    }
}
