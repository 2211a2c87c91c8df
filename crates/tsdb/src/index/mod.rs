//! The inverted index from labels to series.

mod cardinality;
mod list;
mod postings;
mod select;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use roaring::RoaringBitmap;

use postings::Postings;

use crate::series_cell::SeriesCell;
use crate::{METRIC_NAME, heap};

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

impl Index {
    /// Adds a series. Returns the bytes that the index has grown by; an estimate.
    pub(crate) fn insert(&mut self, cell: Arc<SeriesCell>) -> usize {
        let ordinal = cell.key.ordinal();
        let mut grown = 0;
        for label in &cell.labels {
            // Try `get_mut` before `entry`: `entry` would copy the name, which is usually there.
            let values = match self.names.get_mut(label.name) {
                Some(values) => values,
                None => {
                    grown += name_bytes(label.name);
                    self.names.entry(label.name.into()).or_default()
                }
            };
            match values.get_mut(label.value) {
                Some(series) => grown += series.insert(ordinal),
                None => {
                    grown += value_bytes(label.value);
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
        grown
    }

    /// Removes a series. Returns the bytes that the index has shrunk by. Once all series are
    /// removed, these sum to what the inserts returned.
    pub(crate) fn remove(&mut self, cell: &SeriesCell) -> usize {
        let ordinal = cell.key.ordinal();
        let mut shrunk = 0;
        for label in &cell.labels {
            let Some(values) = self.names.get_mut(label.name) else {
                continue;
            };
            let Some(series) = values.get_mut(label.value) else {
                continue;
            };
            match series.remove(ordinal) {
                Some(bytes) => shrunk += bytes,
                None => {
                    shrunk += value_bytes(label.value) + series.heap_bytes();
                    values.remove(label.value);
                }
            }
            if values.is_empty() {
                self.names.remove(label.name);
                shrunk += name_bytes(label.name);
            }
        }
        self.all.remove(ordinal);
        self.series[ordinal as usize] = None;
        // Free the unused ordinals at the end. Those in the middle stay, for later series.
        while let Some(None) = self.series.last() {
            self.series.pop();
        }
        if self.series.len() * 4 < self.series.capacity() {
            self.series.shrink_to(self.series.len() * 2);
        }
        shrunk
    }

    /// Returns `true` if a metric has this name, or one that continues it after an underscore, as
    /// the names of a histogram's series do.
    pub(crate) fn has_metric(&self, name: &str) -> bool {
        let Some(metrics) = self.names.get(METRIC_NAME) else {
            return false;
        };
        let longer = format!("{name}_");
        let from = (Bound::Included(longer.as_str()), Bound::Unbounded);
        let mut following = metrics.range::<str, _>(from);
        metrics.contains_key(name)
            || following
                .next()
                .is_some_and(|(metric, _)| metric.starts_with(&longer))
    }

    fn get(&self, ordinal: u32) -> Option<&Arc<SeriesCell>> {
        self.series.get(ordinal as usize)?.as_ref()
    }
}

/// Estimates the bytes of a label name without values: the text, its entry, and the first node of
/// the tree of values.
fn name_bytes(name: &str) -> usize {
    const NODE_ENTRIES: usize = 11;
    let node = NODE_ENTRIES * (size_of::<Arc<str>>() + size_of::<Postings>());
    heap::text_bytes(name) + heap::tree_entry_bytes::<Arc<str>, Values>() + node
}

/// Estimates the bytes of a label value: the text, and its entry with the first series.
fn value_bytes(value: &str) -> usize {
    heap::text_bytes(value) + heap::tree_entry_bytes::<Arc<str>, Postings>()
}
