//! Latencies that travel as JSON.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Significant digits of a recorded latency.
const DIGITS: u8 = 3;
const GROWS: &str = "a histogram without bounds takes every latency";

/// A histogram of latencies, with three significant digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(DIGITS).expect("the number of digits is at most 5"))
    }
}

impl Latencies {
    /// Records one call.
    pub fn record(&mut self, latency: Duration) {
        let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.record(ns).expect(GROWS);
    }

    /// Adds all calls of another histogram.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect(GROWS);
    }

    /// The latency in nanoseconds that this share of the calls does not exceed; 0 without calls.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }

    /// The number of calls.
    pub fn calls(&self) -> u64 {
        self.0.len()
    }
}

/// As pairs of a latency in nanoseconds and its number of calls.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let recorded = self.0.iter_recorded();
        serializer
            .collect_seq(recorded.map(|step| (step.value_iterated_to(), step.count_at_value())))
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut latencies = Self::default();
        for (ns, calls) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            latencies.0.record_n(ns, calls).expect(GROWS);
        }
        Ok(latencies)
    }
}
