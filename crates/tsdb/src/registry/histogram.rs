use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Error, Labels, LabelsBuilder};

/// The distribution of observed values, such as durations: a count for each bucket of values, and
/// their sum. PromQL's `histogram_quantile` reads quantiles from it. Clones share it. See
/// [`Registry::histogram`](crate::Registry::histogram).
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

/// Relaxed accesses are enough: a reader may see a count before its sum, and the next read corrects
/// it.
#[derive(Debug)]
struct Buckets {
    /// Inclusive upper bounds, ascending.
    bounds: Box<[f64]>,
    /// The values up to each bound and above the one before, and last those above all bounds.
    counts: Box<[AtomicU64]>,
    /// The bits of a float.
    sum: AtomicU64,
}

impl Histogram {
    /// Bounds for durations in seconds, from 1 ms to 10 s.
    pub const SECONDS: [f64; 13] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ];

    pub(super) fn new(bounds: &[f64]) -> Self {
        let finite = bounds.iter().copied().filter(|bound| bound.is_finite());
        let mut bounds: Vec<f64> = finite.collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0));
        Self(Arc::new(Buckets {
            counts: counts.collect(),
            bounds: bounds.into(),
            sum: AtomicU64::new(0.0_f64.to_bits()),
        }))
    }

    /// Counts a value. Takes no lock. NaN is left out, because the sum would be NaN from then on.
    pub fn observe(&self, value: f64) {
        if value.is_nan() {
            return;
        }
        let bucket = self.0.bounds.partition_point(|bound| *bound < value);
        self.0.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let add = |sum| Some((f64::from_bits(sum) + value).to_bits());
        // Fails only if the function returns `None`.
        let _ = self
            .0
            .sum
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(duration.as_secs_f64());
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts().sum()
    }

    /// The sum of the values.
    pub fn sum(&self) -> f64 {
        f64::from_bits(self.0.sum.load(Ordering::Relaxed))
    }

    pub(super) fn bounds(&self) -> &[f64] {
        &self.0.bounds
    }

    fn counts(&self) -> impl Iterator<Item = u64> {
        let counts = self.0.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed))
    }
}

/// The labels of a histogram's series.
#[derive(Debug)]
pub(super) struct HistogramLabels {
    /// One for each bound, and last the one of all values.
    buckets: Vec<Labels>,
    sum: Labels,
    count: Labels,
}

impl HistogramLabels {
    pub(super) fn new(labels: &Labels, bounds: &[f64]) -> Result<Self, Error> {
        let bounds = bounds.iter().map(ToString::to_string);
        let buckets = bounds
            .chain(["+Inf".to_owned()])
            .map(|bound| derived(labels, "_bucket", &bound));
        Ok(Self {
            buckets: buckets.collect::<Result<_, _>>()?,
            sum: derived(labels, "_sum", "")?,
            count: derived(labels, "_count", "")?,
        })
    }

    pub(super) fn each_value(&self, histogram: &Histogram, value: &mut impl FnMut(&Labels, f64)) {
        let mut cumulated = 0;
        for (labels, count) in self.buckets.iter().zip(histogram.counts()) {
            cumulated += count;
            value(labels, cumulated as f64);
        }
        // The count of the last bucket, so that the two never differ.
        value(&self.count, cumulated as f64);
        value(&self.sum, histogram.sum());
    }
}

/// The labels of a series of a histogram. A label with an empty value counts as missing.
fn derived(labels: &Labels, suffix: &str, bound: &str) -> Result<Labels, Error> {
    let mut builder = LabelsBuilder::default();
    builder.metric(&format!("{}{suffix}", labels.metric()));
    for label in labels
        .iter()
        .filter(|label| label.name != crate::METRIC_NAME)
    {
        builder.label(label.name, label.value);
    }
    Ok(builder.label("le", bound).build()?)
}
