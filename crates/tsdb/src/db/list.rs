use std::collections::BTreeMap;

use super::Db;
use crate::{Error, Labels, Matcher, Metadata};

/// What there is, and what is known of it.
impl Db {
    /// The labels of the series that fulfil all of `matchers`, sorted.
    pub fn list_series(&self, matchers: &[Matcher]) -> Vec<Labels> {
        let entries = self.inner.index.read().select(matchers);
        let mut labels: Vec<Labels> = entries.into_iter().map(|entry| entry.labels).collect();
        labels.sort_unstable();
        labels
    }

    /// The names of the labels of the series that fulfil all of `matchers`, sorted.
    pub fn label_names(&self, matchers: &[Matcher]) -> Vec<String> {
        self.inner.index.read().label_names(matchers)
    }

    /// The values of the label `name` among the series that fulfil all of `matchers`, sorted.
    pub fn label_values(&self, name: &str, matchers: &[Matcher]) -> Vec<String> {
        self.inner.index.read().label_values(name, matchers)
    }

    /// How many series there are.
    pub fn series_count(&self) -> usize {
        self.stats().series
    }

    /// Says what is known of a metric; replaces what was said before.
    ///
    /// # Errors
    /// Those of the log, if there is one.
    pub fn set_metadata(&self, metric: &str, metadata: Metadata) -> Result<(), Error> {
        let inner = &*self.inner;
        let mut all = inner.metadata.write();
        let ticket = match &inner.journal {
            Some(journal) => Some(journal.metadata(metric, &metadata)?),
            None => None,
        };
        all.insert(metric.to_owned(), metadata);
        drop(all);
        inner.settle(ticket)
    }

    /// What is known of a metric.
    pub fn metadata(&self, metric: &str) -> Option<Metadata> {
        self.inner.metadata.read().get(metric).cloned()
    }

    /// What is known of all metrics, by name.
    pub fn all_metadata(&self) -> BTreeMap<String, Metadata> {
        self.inner.metadata.read().clone()
    }
}
