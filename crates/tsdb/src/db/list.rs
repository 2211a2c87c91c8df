use super::Db;
use crate::{Labels, Matcher};

/// What there is.
impl Db {
    /// The labels of the series that fulfil all of `matchers`, sorted.
    pub fn list_series(&self, matchers: &[Matcher]) -> Vec<Labels> {
        let series = self.inner.index.read().select(matchers);
        let mut labels: Vec<Labels> = series.iter().map(|cell| cell.labels.clone()).collect();
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
}
