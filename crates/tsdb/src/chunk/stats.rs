//! Statistics of a block. Aggregates can use them without decoding the block.

use crate::is_stale;

/// Statistics of consecutive values. Stale markers don't count as values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stats {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    /// Infinity if there is no number.
    pub(crate) min: f64,
    /// Minus infinity if there is no number.
    pub(crate) max: f64,
    /// NaN if there is no value.
    pub(crate) first: f64,
    /// NaN if there is no value.
    pub(crate) last: f64,
    /// The growth of a counter. A fall means that the counter was reset to zero.
    pub(crate) increase: f64,
}

impl Stats {
    pub(crate) const EMPTY: Self = Self {
        count: 0,
        sum: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        first: f64::NAN,
        last: f64::NAN,
        increase: 0.0,
    };

    /// Adds the next values.
    #[inline]
    pub(crate) fn extend(&mut self, values: &[f64]) {
        let Some(&first) = values.first() else { return };
        let sum = sum(values);
        // A stale marker makes the sum NaN, so most frames need no search for one.
        if sum.is_nan() && values.iter().any(|value| is_stale(*value)) {
            let numbers = values.iter().filter(|value| !is_stale(**value));
            return numbers.for_each(|value| self.extend(std::slice::from_ref(value)));
        }
        let (min, max) = extremes(values);
        let part = Self {
            count: values.len() as u64,
            sum,
            min,
            max,
            first,
            last: values[values.len() - 1],
            increase: increase(values),
        };
        *self = self.then(&part);
    }

    /// Returns the statistics of these values followed by `next`.
    #[must_use]
    #[inline]
    pub(crate) fn then(&self, next: &Self) -> Self {
        if self.count == 0 {
            return *next;
        }
        if next.count == 0 {
            return *self;
        }
        Self {
            count: self.count + next.count,
            sum: self.sum + next.sum,
            min: self.min.min(next.min),
            max: self.max.max(next.max),
            first: self.first,
            last: next.last,
            increase: self.increase + growth(self.last, next.first) + next.increase,
        }
    }
}

/// The number of sums kept in parallel. In a single sum each addition waits for the previous one,
/// and the compiler must not reorder floating-point additions.
const LANES: usize = 8;

pub(crate) fn sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    let rest: f64 = rest.iter().sum();
    if chunks.is_empty() {
        // The lanes are empty, and adding them would turn a sum of -0.0 into 0.0.
        return rest;
    }
    lanes.iter().sum::<f64>() + rest
}

/// Returns the least and the greatest number, ignoring NaN.
fn extremes(values: &[f64]) -> (f64, f64) {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    let mut greatest = [f64::NEG_INFINITY; LANES];
    let rest = rest.chunks(1).map(|value| value.iter());
    for values in chunks.iter().map(|chunk| chunk.iter()).chain(rest) {
        for ((least, greatest), &value) in least.iter_mut().zip(&mut greatest).zip(values) {
            *least = if value < *least { value } else { *least };
            *greatest = if value > *greatest { value } else { *greatest };
        }
    }
    let least = least.into_iter().fold(f64::INFINITY, f64::min);
    (
        least,
        greatest.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

fn increase(values: &[f64]) -> f64 {
    let later = values.get(1..).unwrap_or_default();
    let (befores, _) = values.as_chunks::<LANES>();
    let (afters, rest) = later.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (before, after) in befores.iter().zip(afters) {
        for ((lane, a), b) in lanes.iter_mut().zip(before).zip(after) {
            *lane += growth(*a, *b);
        }
    }
    let rest = &values[values.len() - rest.len() - 1..];
    let rest: f64 = rest.array_windows().map(|[a, b]| growth(*a, *b)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// Returns the growth of a counter from `a` to `b`. If it fell, it was reset in between.
#[inline]
pub(crate) fn growth(a: f64, b: f64) -> f64 {
    if b < a { b } else { b - a }
}
