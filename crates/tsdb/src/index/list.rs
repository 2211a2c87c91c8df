use std::collections::{BTreeMap, BTreeSet};

use super::Index;
use crate::Matcher;

impl Index {
    pub(crate) fn label_names(&self, matchers: &[Matcher]) -> Vec<String> {
        if matchers.is_empty() {
            return self.names.keys().map(|name| name.to_string()).collect();
        }
        let mut names = BTreeSet::new();
        for cell in self.select(matchers) {
            for label in &cell.labels {
                // Most names repeat in every series; don't allocate them again.
                if !names.contains(label.name) {
                    names.insert(label.name.to_owned());
                }
            }
        }
        names.into_iter().collect()
    }

    pub(crate) fn label_values(&self, name: &str, matchers: &[Matcher]) -> Vec<String> {
        if matchers.is_empty() {
            let values = self.names.get(name).into_iter().flat_map(BTreeMap::keys);
            return values.map(|value| value.to_string()).collect();
        }
        let selected = self.select(matchers);
        let values = selected.iter().filter_map(|cell| cell.labels.get(name));
        let values: BTreeSet<&str> = values.collect();
        values.into_iter().map(str::to_owned).collect()
    }
}
