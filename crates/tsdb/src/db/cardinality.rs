use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Db;
use crate::key::SHARDS;

/// The labels with the most series, values and bytes. Look at them when there are too many series.
/// Each list is in descending order of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cardinality {
    /// The number of different pairs of a label's name and value.
    pub label_pairs: usize,
    /// Metrics and their number of series.
    pub series_by_metric: Vec<(String, u64)>,
    /// Label names and their number of values.
    pub values_by_label: Vec<(String, u64)>,
    /// Label names, and the bytes of name and value in all their series.
    pub bytes_by_label: Vec<(String, u64)>,
    /// Pairs `name=value` and their number of series.
    pub series_by_pair: Vec<(String, u64)>,
}

/// The parts of all series, and the time that they cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of compressed blocks and of heads, which are not compressed.
    pub parts: usize,
    /// The timestamps of the oldest and the newest sample. `None` without samples.
    pub range_ms: Option<(i64, i64)>,
}

impl Db {
    /// Returns the labels with the most series, values and bytes, at most `limit` of each kind. It
    /// visits every pair of a label's name and value.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// for host in ["web-1", "web-2"] {
    ///     db.append(&Labels::new("cpu_load", [("host", host)])?, Sample::new(0, 0.42))?;
    /// }
    /// let cardinality = db.cardinality(10);
    /// assert_eq!(cardinality.series_by_metric, [("cpu_load".to_owned(), 2)]);
    /// assert_eq!(cardinality.label_pairs, 3);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn cardinality(&self, limit: usize) -> Cardinality {
        self.inner.index.read().cardinality(limit)
    }

    /// Returns the number of blocks and the time that the samples cover. It visits every series.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let load = Labels::new("cpu_load", [("host", "web-1")])?;
    /// db.append(&load, Sample::new(1000, 0.42))?;
    /// db.append(&load, Sample::new(2000, 0.45))?;
    /// assert_eq!(db.extent().range_ms, Some((1000, 2000)));
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        for index in 0..SHARDS {
            let shard = self.inner.lock_shard(index);
            for cell in shard.series() {
                let (parts, range_ms) = cell.data.lock().extent();
                extent.parts += parts;
                extent.widen(range_ms);
            }
        }
        extent
    }
}

impl Extent {
    fn widen(&mut self, other: Option<(i64, i64)>) {
        self.range_ms = match (self.range_ms, other) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (one, other) => one.or(other),
        };
    }
}

/// The entries with the greatest numbers.
pub(crate) struct Top {
    limit: usize,
    least_first: BinaryHeap<Reverse<(u64, String)>>,
}

impl Top {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            least_first: BinaryHeap::new(),
        }
    }

    /// Adds an entry if its number is among the greatest. Only then calls `name`.
    pub(crate) fn offer(&mut self, number: u64, name: impl FnOnce() -> String) {
        let least = self
            .least_first
            .peek()
            .map_or(0, |Reverse((least, _))| *least);
        if self.least_first.len() >= self.limit && number <= least {
            return;
        }
        self.least_first.push(Reverse((number, name())));
        if self.least_first.len() > self.limit {
            self.least_first.pop();
        }
    }

    /// The entries in descending order of their numbers, equal ones by name.
    pub(crate) fn finish(self) -> Vec<(String, u64)> {
        let entries = self.least_first.into_iter();
        let mut entries: Vec<_> = entries
            .map(|Reverse((number, name))| (name, number))
            .collect();
        entries.sort_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
        entries
    }
}
