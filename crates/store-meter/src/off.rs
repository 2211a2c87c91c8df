//! The handles without the feature `metrics`: types without content, and methods that do nothing.

use std::ops::Deref;

/// Makes handles whose names begin with a prefix and that have the same labels.
#[derive(Clone, Debug)]
pub struct Scope;

impl Scope {
    /// Handles that record nothing.
    pub fn new(_enabled: bool, _prefix: &'static str, _labels: &[(&'static str, &str)]) -> Self {
        Self
    }

    /// The same scope, with another label.
    #[must_use]
    pub fn with(&self, _name: &'static str, _value: &'static str) -> Self {
        Self
    }

    /// A counter, with its help text.
    pub fn counter(&self, _name: &str, _help: &'static str) -> Counter {
        Counter
    }

    /// A gauge, with its help text.
    pub fn gauge(&self, _name: &str, _help: &'static str) -> Gauge {
        Gauge
    }

    /// A histogram of durations in seconds, with its help text.
    pub fn seconds(&self, _name: &str, _help: &'static str) -> Histogram {
        Histogram
    }

    /// A histogram of numbers, with its help text.
    pub fn sizes(&self, _name: &str, _help: &'static str) -> Histogram {
        Histogram
    }
}

/// A count that only grows.
#[derive(Clone, Debug, Default)]
pub struct Counter;

impl Counter {
    /// Adds to the count.
    #[inline(always)]
    pub fn add(&self, _count: u64) {}
}

/// A number that grows and shrinks: the sum of its shares.
#[derive(Clone, Debug, Default)]
pub struct Gauge;

impl Gauge {
    /// A share of 0.
    #[inline(always)]
    pub fn share(&self) -> Share {
        Share(())
    }

    /// A share of 1.
    #[inline(always)]
    pub fn one(&self) -> Share {
        Share(())
    }
}

/// One part of the sum that a gauge shows. Dropping it takes its part away.
#[derive(Debug, Default)]
pub struct Share(());

impl Share {
    /// Sets this part.
    #[inline(always)]
    pub fn set(&self, _value: impl FnOnce() -> u64) {}

    /// Adds to this part. A negative number wraps around, as `wrapping_sub` returns it.
    #[inline(always)]
    pub fn add(&self, _change: u64) {}
}

/// A distribution of durations or numbers.
#[derive(Clone, Debug, Default)]
pub struct Histogram;

impl Histogram {
    /// Records a number.
    #[inline(always)]
    pub fn record(&self, _value: impl FnOnce() -> usize) {}

    /// Records the seconds since `begun`.
    #[inline(always)]
    pub fn record_since(&self, _begun: Timer) {}
}

/// A time from which on a histogram measures.
#[derive(Clone, Copy, Debug)]
pub struct Timer;

impl Timer {
    /// Begins now.
    #[inline(always)]
    pub fn start() -> Self {
        Self
    }
}

/// Handles that many hold.
#[derive(Clone, Debug, Default)]
pub struct Shared<T>(T);

impl<T> Shared<T> {
    /// Shares these handles.
    pub fn new(handles: T) -> Self {
        Self(handles)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
