//! Counters and histograms that a program observes with, and writes into a database at its pace.

mod counter;
mod histogram;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

pub use counter::Counter;
pub use histogram::Histogram;

use histogram::HistogramLabels;

use crate::{Batch, Db, Error, Labels, Metadata, MetricKind, Sample};

/// The counters and histograms of a program.
///
/// An observation changes a number in memory and needs no database. [`Registry::record`] writes one
/// sample of each series, for example every 15 seconds. So observations of the same millisecond never
/// replace each other, as samples with the same timestamp would, and a busy service writes no more
/// samples than an idle one.
///
/// Clones share their counters and histograms.
///
/// ```
/// use std::time::Duration;
/// use tsdb::{Aggregate, Db, DbOptions, Histogram, Matcher, Registry};
///
/// let (db, registry) = (Db::new(DbOptions::default()), Registry::new());
/// let booked = registry.counter("bookings_total", [("hotel", "sea")], "Bookings")?;
/// let seconds = Histogram::SECONDS;
/// let took = registry.histogram("booking_seconds", [("hotel", "sea")], "Time to book", &seconds)?;
///
/// for milliseconds in [3, 3, 40] {
///     booked.add(1);
///     took.observe_duration(Duration::from_millis(milliseconds));
/// }
/// registry.record(&db, 1_700_000_000_000)?;
///
/// let bookings = [Matcher::equal("__name__", "bookings_total")];
/// let found = db.select(&bookings, i64::MIN, i64::MAX);
/// let last = found.iter().next().and_then(|series| series.aggregate(Aggregate::Last));
/// assert_eq!(last, Some(3.0));
/// # Ok::<(), tsdb::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Registered>>);

#[derive(Default)]
struct Registered {
    counters: HashMap<Labels, Counter>,
    histograms: HashMap<Labels, (HistogramLabels, Histogram)>,
    metadata: HashMap<String, Metadata>,
    /// Kept, because a batch that is used again finds its series faster.
    batch: Batch,
}

impl Registry {
    /// No counters and no histograms.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counter with this metric name and these labels, which starts at 0 in a new process. The
    /// same name and labels give the same counter. By convention the name ends in `_total`. `help` is
    /// a sentence that describes the metric.
    ///
    /// Keep the counter: finding it takes a lock and a hash of its labels.
    ///
    /// # Errors
    /// [`Error::Label`].
    pub fn counter<N: AsRef<str>, V: AsRef<str>>(
        &self,
        metric: &str,
        labels: impl IntoIterator<Item = (N, V)>,
        help: &str,
    ) -> Result<Counter, Error> {
        let labels = Labels::new(metric, labels)?;
        let mut registered = self.0.lock();
        registered.describe(metric, MetricKind::Counter, help);
        Ok(registered.counters.entry(labels).or_default().clone())
    }

    /// The histogram with this metric name and these labels, which is empty in a new process. The
    /// same name and labels give the same histogram, with the bounds of the first call. A histogram
    /// with n bounds is n + 3 series: `<metric>_bucket` with the label `le`, `<metric>_sum` and
    /// `<metric>_count`.
    ///
    /// Bounds are inclusive upper bounds, such as [`Histogram::SECONDS`]. They are sorted; repeated
    /// and infinite ones and NaN are left out.
    ///
    /// # Errors
    /// [`Error::Label`], also for a label `le`.
    pub fn histogram<N: AsRef<str>, V: AsRef<str>>(
        &self,
        metric: &str,
        labels: impl IntoIterator<Item = (N, V)>,
        help: &str,
        bounds: &[f64],
    ) -> Result<Histogram, Error> {
        let labels = Labels::new(metric, labels)?;
        let mut registered = self.0.lock();
        let histogram = match registered.histograms.entry(labels) {
            Entry::Occupied(known) => known.get().1.clone(),
            Entry::Vacant(vacant) => {
                let histogram = Histogram::new(bounds);
                let labels = HistogramLabels::new(vacant.key(), histogram.bounds())?;
                vacant.insert((labels, histogram)).1.clone()
            }
        };
        registered.describe(metric, MetricKind::Histogram, help);
        Ok(histogram)
    }

    /// The current value of each series, for example for
    /// [`wire::exposition::Exposition`](crate::wire::exposition::Exposition).
    pub fn values(&self) -> Vec<(Labels, f64)> {
        let mut values = Vec::new();
        let registered = self.0.lock();
        registered.each_value(|labels, value| values.push((labels.clone(), value)));
        values
    }

    /// Writes the current value of each series with this timestamp, and the metadata of the metrics
    /// that `db` does not have yet. Call it at a fixed interval, with timestamps that grow: a second
    /// call with the same timestamp replaces the samples of the first.
    ///
    /// # Errors
    /// The first error of a sample or of metadata, as for [`Db::append`] and [`Db::set_metadata`].
    /// The other series are written.
    pub fn record(&self, db: &Db, timestamp_ms: i64) -> Result<(), Error> {
        let mut registered = self.0.lock();
        let mut batch = std::mem::take(&mut registered.batch);
        registered.each_value(|labels, value| batch.push(labels, Sample::new(timestamp_ms, value)));
        let refused = db.write(&mut batch).refused;
        registered.batch = batch;
        match refused.into_iter().next() {
            Some(refused) => Err(refused.error),
            // After the samples: metadata belongs to a metric that has a series.
            None => registered.record_metadata(db),
        }
    }
}

impl Registered {
    fn describe(&mut self, metric: &str, kind: MetricKind, help: &str) {
        if !self.metadata.contains_key(metric) {
            let help = help.to_owned();
            self.metadata
                .insert(metric.to_owned(), Metadata { kind, help });
        }
    }

    fn each_value(&self, mut value: impl FnMut(&Labels, f64)) {
        for (labels, counter) in &self.counters {
            value(labels, counter.get() as f64);
        }
        for (labels, histogram) in self.histograms.values() {
            labels.each_value(histogram, &mut value);
        }
    }

    fn record_metadata(&self, db: &Db) -> Result<(), Error> {
        for (metric, metadata) in &self.metadata {
            // Setting it again would write it to the log again.
            if db.metadata(metric).as_ref() != Some(metadata) {
                db.set_metadata(metric, metadata.clone())?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = self.0.lock();
        f.debug_struct("Registry")
            .field("counters", &registered.counters.len())
            .field("histograms", &registered.histograms.len())
            .finish()
    }
}
