//! Quantiles of classic histograms: cumulative counts by upper bound.

/// The number of observations up to an upper bound.
#[derive(Clone, Copy, Debug)]
pub(in crate::promql) struct Bucket {
    pub(in crate::promql) upper_bound: f64,
    pub(in crate::promql) count: f64,
}

/// A difference between two counts below this fraction is a rounding error.
const ROUNDING: f64 = 1e-12;

/// The value below which this fraction of the observations lies, assuming that they are spread
/// evenly inside each bucket. The value is NaN without observations or without a bucket for `+Inf`.
/// It is -Inf for a quantile below 0, and +Inf for a quantile above 1.
pub(in crate::promql) fn quantile(quantile: f64, buckets: &mut Vec<Bucket>) -> f64 {
    if quantile.is_nan() {
        return f64::NAN;
    }
    if quantile < 0.0 {
        return f64::NEG_INFINITY;
    }
    if quantile > 1.0 {
        return f64::INFINITY;
    }
    buckets.sort_by(|one, other| one.upper_bound.total_cmp(&other.upper_bound));
    if buckets
        .last()
        .is_none_or(|bucket| bucket.upper_bound != f64::INFINITY)
    {
        return f64::NAN;
    }
    merge_equal_bounds(buckets);
    make_cumulative(buckets);
    interpolate(quantile, buckets)
}

fn merge_equal_bounds(buckets: &mut Vec<Bucket>) {
    // Two buckets can have the same bound, for example `le="1"` and `le="1.0"`.
    buckets.dedup_by(|later, first| {
        let equal = later.upper_bound == first.upper_bound;
        if equal {
            first.count += later.count;
        }
        equal
    });
}

/// A count lower than the count of the bucket before means that the buckets were scraped at
/// different times. The greater count wins.
fn make_cumulative(buckets: &mut [Bucket]) {
    let mut reached = buckets.first().map_or(0.0, |bucket| bucket.count);
    for bucket in buckets.iter_mut().skip(1) {
        let rounding =
            (bucket.count - reached).abs() <= ROUNDING * bucket.count.abs().max(reached.abs());
        if rounding || bucket.count < reached {
            bucket.count = reached;
        }
        reached = bucket.count;
    }
}

fn interpolate(quantile: f64, buckets: &[Bucket]) -> f64 {
    let [finite @ .., last] = buckets else {
        return f64::NAN;
    };
    let Some(greatest) = finite.last() else {
        return f64::NAN;
    };
    if last.count == 0.0 || last.count.is_nan() {
        return f64::NAN;
    }
    let rank = quantile * last.count;
    let index = finite.partition_point(|bucket| bucket.count < rank);
    let Some(bucket) = finite.get(index) else {
        // The `+Inf` bucket has no width to interpolate in.
        return greatest.upper_bound;
    };
    let Some(previous) = index.checked_sub(1).map(|index| finite[index]) else {
        // The lowest bucket begins at 0, unless its upper bound is not positive.
        return match bucket.upper_bound {
            bound if bound <= 0.0 => bound,
            bound => bound * (rank / bucket.count),
        };
    };
    let width = bucket.upper_bound - previous.upper_bound;
    let share = (rank - previous.count) / (bucket.count - previous.count);
    previous.upper_bound + width * share
}
