//! Exponential histograms as classic ones: their buckets are merged to buckets between powers of two,
//! whose bounds stay the same when a sender changes its scale.

use std::collections::BTreeMap;

use super::message::{ExponentialBuckets, ExponentialPoint};

/// The exponents of the least and the greatest bound. Smaller values count up to the least one, greater
/// ones up to infinity.
const EXPONENTS: std::ops::RangeInclusive<i64> = -64..=64;

/// The upper bounds of the buckets with values, in ascending order, each with the number of values up to
/// it. The bucket up to infinity is left out.
pub(super) fn buckets(point: &ExponentialPoint) -> Vec<(f64, u64)> {
    let power = |exponent: i64| 2_f64.powi(exponent as i32);
    let mut counts = Vec::new();
    // The bound of a negative bucket that is nearer to zero is its upper one.
    let negative = merged(point.negative.as_ref(), point.scale, 0);
    counts.extend(
        negative
            .iter()
            .rev()
            .map(|(exponent, count)| (-power(*exponent), *count)),
    );
    if point.zero_count > 0 {
        counts.push((point.zero_threshold, point.zero_count));
    }
    let positive = merged(point.positive.as_ref(), point.scale, 1);
    counts.extend(
        positive
            .iter()
            .map(|(exponent, count)| (power(*exponent), *count)),
    );
    // A threshold may exceed the bounds of small buckets.
    counts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut sum = 0_u64;
    for (_, count) in &mut counts {
        sum = sum.saturating_add(*count);
        *count = sum;
    }
    counts
}

/// The counts by the exponent of the lower bound (`end` 0) or the upper bound (`end` 1), counted from
/// zero outwards.
fn merged(buckets: Option<&ExponentialBuckets>, scale: i32, end: i64) -> BTreeMap<i64, u64> {
    let mut merged = BTreeMap::new();
    let Some(buckets) = buckets else {
        return merged;
    };
    let indexes = i64::from(buckets.offset)..;
    for (index, count) in indexes
        .zip(&buckets.bucket_counts)
        .filter(|(_, count)| **count > 0)
    {
        // Bucket `i` of scale `s` lies between 2^(i / 2^s) and 2^((i + 1) / 2^s).
        let exponent = match scale {
            0.. => (index >> scale.min(62)) + end,
            _ => (index + end) << scale.unsigned_abs().min(24),
        };
        if end == 1 && exponent > *EXPONENTS.end() {
            continue;
        }
        let exponent = exponent.clamp(*EXPONENTS.start(), *EXPONENTS.end());
        let sum = merged.entry(exponent).or_insert(0_u64);
        *sum = sum.saturating_add(*count);
    }
    merged
}
