//! The handles with the feature `metrics`. The module `off` has the same interface.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use metrics::{Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit};

/// Makes handles whose names begin with a prefix and that have the same labels.
#[derive(Clone, Debug)]
pub struct Scope {
    /// `None` if nothing is recorded.
    recorded: Option<Recorded>,
}

#[derive(Clone, Debug)]
struct Recorded {
    prefix: &'static str,
    labels: Vec<Label>,
}

impl Scope {
    /// Handles named `{prefix}_…`. With `enabled` false they record nothing: pass
    /// `cfg!(feature = "metrics")` of the crate that records, because another crate may have switched
    /// this crate's feature on.
    pub fn new(enabled: bool, prefix: &'static str, labels: &[(&'static str, &str)]) -> Self {
        let label = |(name, value): &(&'static str, &str)| Label::new(*name, (*value).to_owned());
        let labels = labels.iter().map(label).collect();
        Self {
            recorded: enabled.then_some(Recorded { prefix, labels }),
        }
    }

    /// The same scope, with another label.
    #[must_use]
    pub fn with(&self, name: &'static str, value: &'static str) -> Self {
        let mut scope = self.clone();
        if let Some(recorded) = &mut scope.recorded {
            recorded.labels.push(Label::new(name, value));
        }
        scope
    }

    /// A counter, with its help text.
    pub fn counter(&self, name: &str, help: &'static str) -> Counter {
        let registered = self.register(name, |recorder, name, key, metadata| {
            recorder.describe_counter(name, Some(Unit::Count), help.into());
            recorder.register_counter(key, metadata)
        });
        Counter(registered.unwrap_or_else(metrics::Counter::noop))
    }

    /// A gauge, with its help text.
    pub fn gauge(&self, name: &str, help: &'static str) -> Gauge {
        let registered = self.register(name, |recorder, name, key, metadata| {
            recorder.describe_gauge(name, Some(Unit::Count), help.into());
            recorder.register_gauge(key, metadata)
        });
        Gauge(registered.unwrap_or_else(metrics::Gauge::noop))
    }

    /// A histogram of durations in seconds, with its help text.
    pub fn seconds(&self, name: &str, help: &'static str) -> Histogram {
        self.histogram(name, Unit::Seconds, help)
    }

    /// A histogram of numbers, with its help text.
    pub fn sizes(&self, name: &str, help: &'static str) -> Histogram {
        self.histogram(name, Unit::Count, help)
    }

    fn histogram(&self, name: &str, unit: Unit, help: &'static str) -> Histogram {
        let registered = self.register(name, |recorder, name, key, metadata| {
            recorder.describe_histogram(name, Some(unit), help.into());
            recorder.register_histogram(key, metadata)
        });
        Histogram(registered.unwrap_or_else(metrics::Histogram::noop))
    }

    /// Registers a handle with the recorder that is installed now.
    fn register<T>(
        &self,
        name: &str,
        register: impl FnOnce(&dyn Recorder, KeyName, &Key, &Metadata<'_>) -> T,
    ) -> Option<T> {
        let Recorded { prefix, labels } = self.recorded.as_ref()?;
        let name = SharedString::from(format!("{prefix}_{name}"));
        let key = Key::from_parts(name.clone(), labels.clone());
        let metadata = Metadata::new(prefix, Level::INFO, None);
        Some(metrics::with_recorder(|recorder| {
            register(recorder, KeyName::from(name), &key, &metadata)
        }))
    }
}

/// A count that only grows.
#[derive(Clone, Debug)]
pub struct Counter(metrics::Counter);

impl Counter {
    /// Adds to the count.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.increment(count);
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self(metrics::Counter::noop())
    }
}

/// A number that grows and shrinks: the sum of its shares.
#[derive(Clone, Debug)]
pub struct Gauge(metrics::Gauge);

impl Gauge {
    /// A share of 0.
    #[inline]
    pub fn share(&self) -> Share {
        Share {
            gauge: self.0.clone(),
            value: AtomicU64::new(0),
        }
    }

    /// A share of 1.
    #[inline]
    pub fn one(&self) -> Share {
        let share = self.share();
        share.set(|| 1);
        share
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self(metrics::Gauge::noop())
    }
}

/// One part of the sum that a gauge shows. Dropping it takes its part away.
#[derive(Debug)]
pub struct Share {
    gauge: metrics::Gauge,
    value: AtomicU64,
}

impl Share {
    /// Sets this part.
    #[inline]
    pub fn set(&self, value: impl FnOnce() -> u64) {
        let value = value();
        // Relaxed: each change adds its difference to the gauge, and their order does not matter.
        self.grow(self.value.swap(value, Ordering::Relaxed), value);
    }

    /// Adds to this part. A negative number wraps around, as `wrapping_sub` returns it.
    #[inline]
    pub fn add(&self, change: u64) {
        let before = self.value.fetch_add(change, Ordering::Relaxed);
        self.grow(before, before.wrapping_add(change));
    }

    fn grow(&self, before: u64, after: u64) {
        if after > before {
            self.gauge.increment((after - before) as f64);
        } else if after < before {
            self.gauge.decrement((before - after) as f64);
        }
    }
}

impl Default for Share {
    fn default() -> Self {
        Gauge::default().share()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(|| 0);
    }
}

/// A distribution of durations or numbers.
#[derive(Clone, Debug)]
pub struct Histogram(metrics::Histogram);

impl Histogram {
    /// Records a number.
    #[inline]
    pub fn record(&self, value: impl FnOnce() -> usize) {
        self.0.record(value() as f64);
    }

    /// Records the seconds since `begun`.
    #[inline]
    pub fn record_since(&self, begun: Timer) {
        self.0.record(begun.0.elapsed());
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self(metrics::Histogram::noop())
    }
}

/// A time from which on a histogram measures.
#[derive(Clone, Copy, Debug)]
pub struct Timer(Instant);

impl Timer {
    /// Begins now.
    #[inline]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

/// Handles that many hold.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// Shares these handles.
    pub fn new(handles: T) -> Self {
        Self(Arc::new(handles))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
