//! The metrics that the stores record through the `metrics` facade. Their READMEs list the names.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge, GaugeFn as _, Histogram, HistogramFn, Key, KeyName, Recorder};
use metrics::{SharedString, Unit};
use parking_lot::Mutex;
use tsdb::{Metadata, MetricKind};

use super::measured::Measured;

/// Upper bounds of the buckets of durations, in seconds.
const SECONDS: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// Upper bounds of the buckets of sizes.
const SIZES: &[f64] = &[
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0,
];

/// The recorder of one server. Not a global one, because tests run several servers in a process.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    values: Mutex<BTreeMap<Name, Value>>,
    descriptions: Mutex<BTreeMap<String, Metadata>>,
}

/// The metric and the labels of a series.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    metric: String,
    labels: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
enum Value {
    Counter(Arc<AtomicU64>),
    /// The bits of an `f64`.
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<Buckets>),
}

/// A histogram with fixed buckets.
#[derive(Debug)]
struct Buckets {
    bounds: &'static [f64],
    /// One for each bound, and one for greater values.
    counts: Vec<AtomicU64>,
    /// The bits of an `f64`.
    sum: AtomicU64,
}

impl Recorded {
    /// Awaits `open`. The stores that it opens record here.
    pub(crate) async fn of<T>(&self, open: impl Future<Output = T>) -> T {
        let mut open = pin!(open);
        poll_fn(|cx| metrics::with_local_recorder(self, || open.as_mut().poll(cx))).await
    }

    /// The metrics, with their metadata.
    pub(super) fn descriptions(&self) -> Vec<(String, Metadata)> {
        let descriptions = self.descriptions.lock();
        let copied = descriptions.iter();
        copied
            .map(|(metric, metadata)| (metric.clone(), metadata.clone()))
            .collect()
    }

    /// Adds the values.
    pub(super) fn add_to(&self, measured: &mut Measured) {
        for (name, value) in &*self.values.lock() {
            let labels = name.labels.iter();
            let labels: Vec<_> = labels.map(|(name, value)| (&**name, &**value)).collect();
            match value {
                Value::Counter(count) => {
                    let count = count.load(Ordering::Relaxed);
                    measured.add(&name.metric, &labels, count as f64);
                }
                Value::Gauge(bits) => {
                    let value = f64::from_bits(bits.load(Ordering::Relaxed));
                    measured.add(&name.metric, &labels, value);
                }
                Value::Histogram(buckets) => buckets.add_to(measured, &name.metric, &labels),
            }
        }
    }

    fn describe(&self, name: &KeyName, kind: MetricKind, help: SharedString) {
        let (metric, help) = (name.as_str().to_owned(), help.into_owned());
        self.descriptions
            .lock()
            .insert(metric, Metadata { kind, help });
    }

    /// The value of this name. Several stores may share it.
    fn value(&self, key: &Key, new: impl FnOnce() -> Value) -> Value {
        let labels = key.labels();
        let labels = labels.map(|label| (label.key().to_owned(), label.value().to_owned()));
        let name = Name {
            metric: key.name().to_owned(),
            labels: labels.collect(),
        };
        self.values.lock().entry(name).or_insert_with(new).clone()
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Counter, help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Gauge, help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, MetricKind::Histogram, help);
    }

    fn register_counter(&self, key: &Key, _: &metrics::Metadata<'_>) -> Counter {
        match self.value(key, || Value::Counter(Arc::default())) {
            Value::Counter(count) => Counter::from_arc(count),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &metrics::Metadata<'_>) -> Gauge {
        match self.value(key, || Value::Gauge(Arc::default())) {
            Value::Gauge(bits) => Gauge::from_arc(bits),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &metrics::Metadata<'_>) -> Histogram {
        let bounds = match key.name().ends_with("_seconds") {
            true => SECONDS,
            false => SIZES,
        };
        match self.value(key, || Value::Histogram(Arc::new(Buckets::new(bounds)))) {
            Value::Histogram(buckets) => Histogram::from_arc(buckets),
            _ => Histogram::noop(),
        }
    }
}

impl Buckets {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    fn add_to(&self, measured: &mut Measured, metric: &str, labels: &[(&str, &str)]) {
        let bucket = format!("{metric}_bucket");
        let bounds = self.bounds.iter().map(f64::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut count = 0;
        for (bound, in_bucket) in bounds.zip(&self.counts) {
            count += in_bucket.load(Ordering::Relaxed);
            let labels: Vec<_> = labels.iter().copied().chain([("le", &*bound)]).collect();
            measured.add(&bucket, &labels, count as f64);
        }
        measured.add(&format!("{metric}_count"), labels, count as f64);
        let sum = f64::from_bits(self.sum.load(Ordering::Relaxed));
        measured.add(&format!("{metric}_sum"), labels, sum);
    }
}

impl HistogramFn for Buckets {
    fn record(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        // Relaxed: a reader may see the count before the sum, and the next read corrects it.
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.increment(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_include_their_bounds() {
        let recorded = Recorded::default();
        let histogram = metrics::with_local_recorder(
            &recorded,
            || metrics::histogram!("course_commit_events", "log" => "a"),
        );
        for value in [1.0, 2.0, 3.0, 5000.0] {
            histogram.record(value);
        }
        let mut measured = Measured::default();
        recorded.add_to(&mut measured);
        let values = measured.values.iter();
        let values = values.map(|(labels, value)| (labels.to_string(), *value));
        let values: BTreeMap<_, _> = values.collect();
        for (series, value) in [
            (r#"course_commit_events_bucket{le="1",log="a"}"#, 1.0),
            (r#"course_commit_events_bucket{le="2",log="a"}"#, 2.0),
            (r#"course_commit_events_bucket{le="4",log="a"}"#, 3.0),
            (r#"course_commit_events_bucket{le="1024",log="a"}"#, 3.0),
            (r#"course_commit_events_bucket{le="+Inf",log="a"}"#, 4.0),
            (r#"course_commit_events_count{log="a"}"#, 4.0),
            (r#"course_commit_events_sum{log="a"}"#, 5006.0),
        ] {
            assert_eq!(values.get(series), Some(&value), "{series}: {values:?}");
        }
    }
}
