//! Functions of classic histograms: cumulative counts by upper bound.

/// The number of observations up to an upper bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) upper_bound: f64,
    pub(crate) count: f64,
}

/// A function of the buckets of one histogram, in any order and at least one, and of parameters.
pub(crate) type BucketFunction = fn(&[f64], &mut Vec<Bucket>) -> f64;

/// The function of this name.
pub(crate) fn named(name: &str) -> Option<BucketFunction> {
    Some(match name {
        "histogram_quantile" => |parameters, buckets| quantile(parameters[0], buckets),
        "histogram_fraction" => |limits, buckets| fraction(limits[0], limits[1], buckets),
        _ => return None,
    })
}

/// A difference between two counts below this fraction is a rounding error.
const ROUNDING: f64 = 1e-12;

/// The value below which this fraction of the observations lies, assuming that they are spread
/// evenly inside each bucket. The value is NaN without observations or without a bucket for `+Inf`.
/// It is -Inf for a quantile below 0, and +Inf for a quantile above 1.
pub(crate) fn quantile(quantile: f64, buckets: &mut Vec<Bucket>) -> f64 {
    if quantile.is_nan() {
        return f64::NAN;
    }
    if quantile < 0.0 {
        return f64::NEG_INFINITY;
    }
    if quantile > 1.0 {
        return f64::INFINITY;
    }
    if !order(buckets) {
        return f64::NAN;
    }
    make_cumulative(buckets);
    interpolate(quantile, buckets)
}

/// The fraction of the observations between two values, assuming that they are spread evenly inside
/// each bucket. The value is NaN without observations, without a bucket for `+Inf`, or if a limit is
/// NaN.
fn fraction(lower: f64, upper: f64, buckets: &mut Vec<Bucket>) -> f64 {
    let ordered = order(buckets);
    let count = buckets.last().map_or(0.0, |bucket| bucket.count);
    if !ordered || count == 0.0 || lower.is_nan() || upper.is_nan() {
        return f64::NAN;
    }
    if lower >= upper {
        return 0.0;
    }
    // As in Prometheus, the counts are taken as they are, even if they are not cumulative.
    let rank = |value| rank_of(value, buckets).min(count);
    (rank(upper) - rank(lower)) / count
}

/// The number of observations up to `value`.
fn rank_of(value: f64, buckets: &[Bucket]) -> f64 {
    // The lowest bucket begins at 0, unless its upper bound is not positive.
    let mut lower_bound = match buckets[0].upper_bound {
        bound if bound <= 0.0 => f64::NEG_INFINITY,
        _ => 0.0,
    };
    let mut rank = 0.0;
    for bucket in buckets {
        if lower_bound >= value {
            return rank;
        }
        if bucket.upper_bound > value {
            return match lower_bound {
                f64::NEG_INFINITY => bucket.count,
                _ => {
                    let width = bucket.upper_bound - lower_bound;
                    rank + (bucket.count - rank) * (value - lower_bound) / width
                }
            };
        }
        (lower_bound, rank) = (bucket.upper_bound, bucket.count);
    }
    rank
}

/// Sorts the buckets by their bounds, and merges equal bounds. Returns `false` if there is no bucket
/// for `+Inf`.
fn order(buckets: &mut Vec<Bucket>) -> bool {
    buckets.sort_by(|one, other| one.upper_bound.total_cmp(&other.upper_bound));
    merge_equal_bounds(buckets);
    let last = buckets.last();
    last.is_some_and(|bucket| bucket.upper_bound == f64::INFINITY)
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
