use super::Db;
#[cfg(feature = "wire")]
use crate::LabelsRef;
#[cfg(feature = "wire")]
use crate::shard::shard_of;
use crate::{Labels, Matcher};

/// Lists of series and labels.
impl Db {
    /// Returns the labels of the series that match all of `matchers`, sorted.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let load = Labels::new("cpu_load", [("host", "web-1")])?;
    /// db.append(&load, Sample::new(0, 0.42))?;
    /// assert_eq!(db.list_series(&[Matcher::metric("cpu_load")]), [load]);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn list_series(&self, matchers: &[Matcher]) -> Vec<Labels> {
        let series = self.inner.index.read().select(matchers);
        let mut labels: Vec<Labels> = series.iter().map(|cell| cell.labels.clone()).collect();
        labels.sort_unstable();
        labels
    }

    /// Returns the label names of the series that match all of `matchers`, sorted.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let load = Labels::new("cpu_load", [("host", "web-1"), ("dc", "north")])?;
    /// db.append(&load, Sample::new(0, 0.42))?;
    /// assert_eq!(db.label_names(&[]), ["__name__", "dc", "host"]);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn label_names(&self, matchers: &[Matcher]) -> Vec<String> {
        self.inner.index.read().label_names(matchers)
    }

    /// Returns the values that the label `name` has in the series that match all of `matchers`,
    /// sorted.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// for host in ["web-1", "web-2"] {
    ///     db.append(&Labels::new("requests", [("host", host)])?, Sample::new(0, 1.0))?;
    /// }
    /// let hosts = db.label_values("host", &[Matcher::metric("requests")]);
    /// assert_eq!(hosts, ["web-1", "web-2"]);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn label_values(&self, name: &str, matchers: &[Matcher]) -> Vec<String> {
        self.inner.index.read().label_values(name, matchers)
    }

    /// Returns the newest timestamp of a series, if it exists.
    #[cfg(feature = "wire")]
    pub(crate) fn newest_ms(&self, labels: LabelsRef<'_>) -> Option<i64> {
        let shard = self.inner.lock_shard(shard_of(labels.hash_code()));
        let data = shard.find(labels)?.data.lock();
        Some(data.newest_ms())
    }

    /// Returns the number of series.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// db.append(&Labels::new("cpu_load", [("host", "web-1")])?, Sample::new(0, 0.42))?;
    /// assert_eq!(db.series_count(), 1);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn series_count(&self) -> usize {
        self.stats().series
    }
}
