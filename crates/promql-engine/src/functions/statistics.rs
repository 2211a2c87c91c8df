//! Statistics of a non-empty list of values.

/// The sum, with the rounding errors of the additions added at the end (Kahan and Neumaier).
pub(crate) fn sum(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for &value in values {
        (sum, lost) = added(sum, value, lost);
    }
    sum + lost
}

/// The sum of two numbers, and `lost` with the rounding error of this addition.
pub(super) fn added(sum: f64, value: f64, lost: f64) -> (f64, f64) {
    let next = sum + value;
    // With an infinite sum the correction would be NaN.
    let lost = if next.is_infinite() {
        0.0
    } else if sum.abs() >= value.abs() {
        lost + ((sum - next) + value)
    } else {
        lost + ((value - next) + sum)
    };
    (next, lost)
}

/// The arithmetic mean, even if the sum overflows an f64.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let sum = sum(values);
    if sum.is_infinite() && values.iter().all(|value| value.is_finite()) {
        return running_mean(values);
    }
    sum / values.len() as f64
}

fn running_mean(values: &[f64]) -> f64 {
    // Divides before it adds, so no intermediate sum overflows.
    let counted = values.iter().zip(1_u32..);
    counted.fold(0.0, |mean, (value, count)| {
        let count = f64::from(count);
        mean + (value / count - mean / count)
    })
}

/// The least value; NaN only if all are NaN.
pub(crate) fn min(values: &[f64]) -> f64 {
    // `f64::min` prefers a number to NaN, so NaN remains only if no value is a number.
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The greatest value; NaN only if all are NaN.
pub(crate) fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The variance of the population, in one pass (Welford).
pub(crate) fn variance(values: &[f64]) -> f64 {
    let (mut mean, mut squares) = (0.0, 0.0);
    for (value, count) in values.iter().zip(1_u32..) {
        let delta = value - mean;
        mean += delta / f64::from(count);
        squares += delta * (value - mean);
    }
    squares / values.len() as f64
}

/// The value below which this fraction of the values lies, interpolated between two of them. It is
/// -Inf for a fraction below 0, and +Inf for a fraction above 1. Sorts the values, NaN first.
pub(crate) fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    if quantile.is_nan() || values.is_empty() {
        return f64::NAN;
    }
    if quantile < 0.0 {
        return f64::NEG_INFINITY;
    }
    if quantile > 1.0 {
        return f64::INFINITY;
    }
    values.sort_unstable_by(|one, other| {
        one.partial_cmp(other)
            .unwrap_or_else(|| other.is_nan().cmp(&one.is_nan()))
    });
    let last = values.len() - 1;
    let rank = quantile * last as f64;
    let below = rank.floor();
    let lower = below as usize;
    let upper = last.min(lower + 1);
    let weight = rank - below;
    // With an infinite neighbour, the product below would be NaN.
    if weight == 0.0 {
        return values[lower];
    }
    values[lower] * (1.0 - weight) + values[upper] * weight
}
