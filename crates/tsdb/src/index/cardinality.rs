use super::Index;
use crate::METRIC_NAME;
use crate::db::{Cardinality, Top};

impl Index {
    /// The labels with the most series, values and bytes, at most `limit` of each kind.
    pub(crate) fn cardinality(&self, limit: usize) -> Cardinality {
        let mut label_pairs = 0;
        let mut series_by_metric = Top::new(limit);
        let mut values_by_label = Top::new(limit);
        let mut bytes_by_label = Top::new(limit);
        let mut series_by_pair = Top::new(limit);
        for (name, values) in &self.names {
            let mut bytes = 0;
            for (value, postings) in values {
                let series = postings.len();
                label_pairs += 1;
                bytes += (name.len() + value.len()) as u64 * series;
                series_by_pair.offer(series, || format!("{name}={value}"));
                if &**name == METRIC_NAME {
                    series_by_metric.offer(series, || value.to_string());
                }
            }
            values_by_label.offer(values.len() as u64, || name.to_string());
            bytes_by_label.offer(bytes, || name.to_string());
        }
        Cardinality {
            label_pairs,
            series_by_metric: series_by_metric.finish(),
            values_by_label: values_by_label.finish(),
            bytes_by_label: bytes_by_label.finish(),
            series_by_pair: series_by_pair.finish(),
        }
    }
}
