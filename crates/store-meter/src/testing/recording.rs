use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// Name, type and labels of a metric, as a README's table has them in its first three columns.
pub type Row = (String, String, String);

/// A recorder that only the calls in [`Recording::of`] see.
pub struct Recording(Snapshotter);

/// The values that were recorded since the last look. Each look sets counters and gauges back to 0.
pub struct Recorded(Vec<Value>);

struct Value {
    name: String,
    kind: String,
    labels: BTreeMap<String, String>,
    value: DebugValue,
}

impl Recording {
    /// Awaits `open`, with the recorder installed for the thread that polls it.
    pub async fn of<T>(open: impl Future<Output = T>) -> (T, Self) {
        let recorder = DebuggingRecorder::new();
        let mut open = pin!(open);
        let opened =
            poll_fn(|cx| metrics::with_local_recorder(&recorder, || open.as_mut().poll(cx)));
        (opened.await, Self(recorder.snapshotter()))
    }

    /// Looks at the recorder.
    ///
    /// # Panics
    /// If a metric has no help text.
    pub fn look(&self) -> Recorded {
        let values = self.0.snapshot().into_vec().into_iter();
        let values = values.map(|(key, _, help, value)| {
            let (kind, key) = key.into_parts();
            assert!(help.is_some_and(|help| !help.is_empty()), "help of {key}");
            let label = |label: &metrics::Label| (label.key().into(), label.value().into());
            Value {
                name: key.name().to_owned(),
                kind: format!("{kind:?}").to_lowercase(),
                labels: key.labels().map(label).collect(),
                value,
            }
        });
        Recorded(values.collect())
    }
}

impl Recorded {
    /// The value of a counter or gauge, or the number of values of a histogram.
    ///
    /// # Panics
    /// If nothing was registered under this name and label.
    pub fn number(&self, name: &str, label: Option<(&str, &str)>) -> f64 {
        let has = |value: &&Value| {
            label.is_none_or(|(key, wanted)| value.labels.get(key).is_some_and(|it| it == wanted))
        };
        let mut named = self.0.iter().filter(|value| value.name == name);
        let found = named.find(has);
        match &found.unwrap_or_else(|| panic!("{name} {label:?}")).value {
            DebugValue::Counter(count) => *count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => values.len() as f64,
        }
    }

    /// The values of a label that all have.
    ///
    /// # Panics
    /// If one does not have the label.
    pub fn values_of(&self, label: &str) -> BTreeSet<&str> {
        let values = self.0.iter();
        values.map(|value| value.labels[label].as_str()).collect()
    }

    /// All that was registered, without the labels that all have.
    pub fn rows(&self, common: &[&str]) -> BTreeSet<Row> {
        let rows = self.0.iter().map(|value| {
            let labels = value.labels.keys().map(String::as_str);
            let labels: Vec<_> = labels.filter(|label| !common.contains(label)).collect();
            (value.name.clone(), value.kind.clone(), labels.join(", "))
        });
        rows.collect()
    }
}

/// The rows of the tables in a README whose names begin with this prefix.
///
/// # Panics
/// If a row has less than three columns.
pub fn documented(readme: &str, prefix: &str) -> BTreeSet<Row> {
    let begin = format!("| `{prefix}_");
    let rows = readme.lines().filter(|line| line.starts_with(&begin));
    let rows = rows.map(|row| {
        let cells = row.split('|').skip(1);
        let mut cells = cells.map(|cell| cell.trim().replace('`', ""));
        let mut next = || cells.next().expect("a row has three columns");
        (next(), next(), next())
    });
    rows.collect()
}
