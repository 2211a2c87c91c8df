use crate::chunk::block::Block;
use crate::chunk::stats::{growth, sum};
use crate::is_stale;

/// The state of an aggregate over the samples so far.
pub(super) trait Accumulate: Default {
    /// Returns `true` if the statistics of the block are enough.
    fn takes(_: &Block) -> bool {
        false
    }

    /// Adds all samples of a block that it [`takes`](Self::takes).
    fn block(&mut self, _: &Block) {}

    /// Adds the next samples; at least one.
    fn samples(&mut self, timestamps_ms: &[i64], values: &[f64]);

    /// Returns `true` if nothing was added except stale markers.
    fn is_empty(&self) -> bool;
}

/// The state for sum, mean and count.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) sum: f64,
}

impl Sums {
    pub(super) fn mean(&self) -> Option<f64> {
        // Processors convert signed integers in one instruction, unsigned ones in several.
        Some(self.sum / self.count.cast_signed() as f64)
    }
}

impl Accumulate for Sums {
    fn takes(_: &Block) -> bool {
        true
    }

    fn block(&mut self, block: &Block) {
        self.count += block.stats.count;
        self.sum += block.stats.sum;
    }

    #[inline]
    fn samples(&mut self, _: &[i64], values: &[f64]) {
        let sum = sum(values);
        // A stale marker makes the sum NaN, so any other sum proves that there is none.
        if sum.is_nan() {
            let numbers = values.iter().filter(|value| !is_stale(**value));
            return numbers.for_each(|value| {
                self.count += 1;
                self.sum += value;
            });
        }
        self.count += values.len() as u64;
        self.sum += sum;
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The state for minimum and maximum.
pub(super) struct Extremes {
    /// Whether there was a value, NaN included.
    any: bool,
    least: f64,
    greatest: f64,
}

impl Default for Extremes {
    fn default() -> Self {
        Self {
            any: false,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        }
    }
}

impl Extremes {
    pub(super) fn least(&self) -> Option<f64> {
        Some(if self.all_nan() { f64::NAN } else { self.least })
    }

    pub(super) fn greatest(&self) -> Option<f64> {
        Some(if self.all_nan() {
            f64::NAN
        } else {
            self.greatest
        })
    }

    fn all_nan(&self) -> bool {
        // The initial infinities are unchanged, so no comparison with a value was true.
        self.least > self.greatest
    }
}

impl Accumulate for Extremes {
    fn takes(_: &Block) -> bool {
        true
    }

    fn block(&mut self, block: &Block) {
        self.any |= block.stats.count > 0;
        // Without a number in the block these are infinities, which change nothing.
        self.least = self.least.min(block.stats.min);
        self.greatest = self.greatest.max(block.stats.max);
    }

    #[inline]
    fn samples(&mut self, _: &[i64], values: &[f64]) {
        for &value in values {
            self.any |= !is_stale(value);
            // Don't use `f64::min`: its handling of NaN costs more than this selection.
            self.least = if value < self.least {
                value
            } else {
                self.least
            };
            self.greatest = if value > self.greatest {
                value
            } else {
                self.greatest
            };
        }
    }

    fn is_empty(&self) -> bool {
        !self.any
    }
}

/// The state for first, last and delta.
#[derive(Default)]
pub(super) struct Ends {
    count: u64,
    pub(super) first: f64,
    pub(super) last: f64,
}

impl Ends {
    pub(super) fn delta(&self) -> Option<f64> {
        (self.count > 1).then_some(self.last - self.first)
    }

    fn add(&mut self, count: u64, first: f64, last: f64) {
        if count == 0 {
            return;
        }
        if self.count == 0 {
            self.first = first;
        }
        self.last = last;
        self.count += count;
    }
}

impl Accumulate for Ends {
    fn takes(_: &Block) -> bool {
        true
    }

    fn block(&mut self, block: &Block) {
        let stats = &block.stats;
        self.add(stats.count, stats.first, stats.last);
    }

    #[inline]
    fn samples(&mut self, _: &[i64], values: &[f64]) {
        let first = values.iter().position(|value| !is_stale(*value));
        let last = values.iter().rposition(|value| !is_stale(*value));
        if let (Some(first), Some(last)) = (first, last) {
            // The count includes stale markers between the two. That does no harm, because only
            // zero, one or more matters.
            self.add(1 + (last - first) as u64, values[first], values[last]);
        }
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The state for increase and rate: the growth of a counter, and its time span.
#[derive(Default)]
pub(super) struct Changes {
    increase: f64,
    first_ms: i64,
    /// The timestamp and value of the newest sample.
    last: Option<(i64, f64)>,
}

impl Changes {
    pub(super) fn increase(&self) -> Option<f64> {
        Some(self.increase)
    }

    pub(super) fn rate(&self) -> Option<f64> {
        let (last_ms, _) = self.last?;
        let elapsed_ms = last_ms.abs_diff(self.first_ms);
        (elapsed_ms > 0).then(|| self.increase / (elapsed_ms as f64 / 1000.0))
    }

    fn add(&mut self, timestamp_ms: i64, value: f64) {
        match self.last {
            Some((_, before)) => self.increase += growth(before, value),
            None => self.first_ms = timestamp_ms,
        }
        self.last = Some((timestamp_ms, value));
    }
}

impl Accumulate for Changes {
    /// The statistics have no timestamps, so this uses those of the block. They are right only if
    /// the block has no stale marker.
    fn takes(block: &Block) -> bool {
        block.stats.count == block.count as u64
    }

    fn block(&mut self, block: &Block) {
        self.add(block.first_ms, block.stats.first);
        self.increase += block.stats.increase;
        self.last = Some((block.last_ms, block.stats.last));
    }

    fn samples(&mut self, timestamps_ms: &[i64], values: &[f64]) {
        for (&timestamp_ms, &value) in timestamps_ms.iter().zip(values) {
            if !is_stale(value) {
                self.add(timestamp_ms, value);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}
