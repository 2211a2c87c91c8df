use std::collections::BTreeMap;

use super::{Db, Inner};
use crate::heap::{self, ALLOCATION};
use crate::{Error, Metadata};

/// Metadata of metrics.
impl Db {
    /// Sets the metadata of a metric and replaces the old. Set `Metadata::default()` to remove it.
    ///
    /// Metadata stays when the series of the metric end, unless
    /// [`Retention::bytes`](crate::Retention::bytes) ends them. It also limits all metadata to a
    /// quarter of these bytes. Above that, the engine removes the longest.
    ///
    /// # Errors
    /// [`Error::MemoryFull`] if the new metadata is longer than the old and exceeds
    /// [`Limits::bytes`](crate::Limits::bytes). For a database with files also [`Error::DiskFull`],
    /// [`Error::Storage`], [`Error::NotDurable`] or [`Error::Closed`].
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Metadata, MetricKind};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let help = "Requests served since the start.".to_owned();
    /// db.set_metadata("requests_total", Metadata { kind: MetricKind::Counter, help })?;
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn set_metadata(&self, metric: &str, metadata: Metadata) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut all = inner.metadata.write();
        let before = all.get(metric).map_or(0, |known| size_bytes(metric, known));
        let growth = size_bytes(metric, &metadata).saturating_sub(before);
        if growth > 0 {
            inner.usage.check_room(growth, &inner.options.limits)?;
        }
        let demand = match &inner.journal {
            Some(journal) => Some(journal.metadata(metric, &metadata)?),
            None => None,
        };
        inner.put_metadata(&mut all, metric, metadata);
        // Release the lock first: settling may flush, and a flush may wait for a snapshot that
        // needs this lock.
        drop(all);
        if growth > 0 {
            inner.retain();
        }
        inner.settle(demand)
    }

    /// Returns the metadata of a metric.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Metadata, MetricKind};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.set_metadata("cpu_load", Metadata { kind: MetricKind::Gauge, ..Metadata::default() })?;
    /// let metadata = db.metadata("cpu_load").unwrap_or_default();
    /// assert_eq!(metadata.kind, MetricKind::Gauge);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn metadata(&self, metric: &str) -> Option<Metadata> {
        self.inner.metadata.read().get(metric).cloned()
    }

    /// Returns the metadata of all metrics, by metric name.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Metadata, MetricKind};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.set_metadata("cpu_load", Metadata { kind: MetricKind::Gauge, ..Metadata::default() })?;
    /// for (metric, metadata) in db.all_metadata() {
    ///     println!("{metric}: {:?}", metadata.kind);
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn all_metadata(&self) -> BTreeMap<String, Metadata> {
        self.inner.metadata.read().clone()
    }
}

impl Inner {
    /// Stores the metadata of a metric in `all`, the locked map.
    pub(super) fn put_metadata(
        &self,
        all: &mut BTreeMap<String, Metadata>,
        metric: &str,
        mut metadata: Metadata,
    ) {
        // Metadata stays for a long time, and `size_bytes` does not count unused capacity.
        metadata.help.shrink_to_fit();
        let after = size_bytes(metric, &metadata);
        let replaced = match after {
            0 => all.remove(metric),
            _ => all.insert(metric.to_owned(), metadata),
        };
        let before = replaced.map_or(0, |replaced| size_bytes(metric, &replaced));
        self.usage.resize_metadata(before, after);
    }

    /// Frees the metadata of metrics without series, and then the longest until the rest takes at
    /// most `max` bytes. As for samples, the log does not record this.
    pub(super) fn free_metadata(&self, max: usize) {
        let mut all = self.metadata.write();
        let before: usize = sizes(&all).sum();
        {
            let index = self.index.read();
            all.retain(|metric, _| index.has_metric(metric));
        }
        let mut left: usize = sizes(&all).sum();
        if left > max {
            let mut shortest_first: Vec<_> = sizes(&all).zip(all.keys().cloned()).collect();
            shortest_first.sort_unstable();
            while left > max
                && let Some((size, longest)) = shortest_first.pop()
            {
                all.remove(&longest);
                left -= size;
            }
        }
        self.usage.resize_metadata(before, left);
    }
}

fn sizes(all: &BTreeMap<String, Metadata>) -> impl Iterator<Item = usize> {
    all.iter().map(|(metric, known)| size_bytes(metric, known))
}

/// Estimates the bytes that an entry occupies. Default metadata is not stored, so it occupies none.
fn size_bytes(metric: &str, metadata: &Metadata) -> usize {
    match *metadata == Metadata::default() {
        true => 0,
        false => {
            heap::tree_entry_bytes::<String, Metadata>()
                + 2 * ALLOCATION
                + metric.len()
                + metadata.help.len()
        }
    }
}
