use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Exponent of the first bound: 2^12 ns, about 4 µs.
const FIRST: u32 = 12;
/// Exponent of the last bound: 2^36 ns, about 69 s.
const LAST: u32 = 36;
/// Buckets per power of two. A quantile is off by at most a quarter.
const PARTS: usize = 4;
/// The buckets between the bounds, one below and one above.
const BUCKETS: usize = (LAST - FIRST) as usize * PARTS + 2;

/// A histogram of durations, updated without locks.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

/// The counts of a [`Histogram`] at one time.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    buckets: [u64; BUCKETS],
    sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            sum_ns: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: a reader may see the count before the sum, and the next read corrects it.
        self.buckets[bucket_of(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket].load(Ordering::Relaxed)),
            sum_ns: self.sum_ns.load(Ordering::Relaxed),
        }
    }
}

impl Counted {
    /// The counts of an empty histogram.
    pub(super) const NONE: Self = Self {
        buckets: [0; BUCKETS],
        sum_ns: 0,
    };

    pub(super) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(super) fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, other) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += other;
        }
        self.sum_ns += other.sum_ns;
    }

    /// The counts that were added after `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            buckets: std::array::from_fn(|bucket| self.buckets[bucket] - earlier.buckets[bucket]),
            // Huge durations can wrap the sum around; the difference is still right.
            sum_ns: self.sum_ns.wrapping_sub(earlier.sum_ns),
        }
    }

    /// The bounds that are powers of two, in seconds, each with the number of durations up to it.
    /// The buckets between them are left out, to keep the number of exported series small.
    pub(super) fn cumulated(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let (mut count, mut next) = (0, 0);
        (FIRST..=LAST).map(move |exponent| {
            let end = (exponent - FIRST) as usize * PARTS;
            count += self.buckets[next..=end].iter().sum::<u64>();
            next = end + 1;
            (seconds(1 << exponent), count)
        })
    }

    /// The quantile in seconds, interpolated within its bucket; `None` for an empty histogram.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share * self.count() as f64;
        let mut before = 0;
        for (bucket, &count) in self.buckets.iter().enumerate() {
            if count > 0 && (before + count) as f64 >= rank {
                let (low, high) = bounds(bucket);
                let part = (rank - before as f64) / count as f64;
                return Some(seconds(low) + seconds(high - low) * part);
            }
            before += count;
        }
        None
    }
}

/// The bucket of a duration: the first with an upper bound of at least `ns`.
fn bucket_of(ns: u64) -> usize {
    let below = ns.saturating_sub(1);
    // Upper bounds are inclusive, so a bound itself must fall into the bucket below it.
    let exponent = below.checked_ilog2().unwrap_or(0);
    if exponent < FIRST {
        0
    } else if exponent >= LAST {
        BUCKETS - 1
    } else {
        // The two bits after the leading bit select the quarter of the power of two.
        let part = (below >> (exponent - 2)) as usize % PARTS;
        1 + (exponent - FIRST) as usize * PARTS + part
    }
}

/// The exclusive lower and the inclusive upper bound of a bucket, in ns. The last bucket has no
/// upper bound; both values are its lower bound.
fn bounds(bucket: usize) -> (u64, u64) {
    let upper = |bucket: usize| {
        let (power, part) = (FIRST + (bucket / PARTS) as u32, bucket % PARTS);
        ((PARTS + part) as u64) << (power - 2)
    };
    match bucket {
        0 => (0, upper(0)),
        _ if bucket == BUCKETS - 1 => (upper(bucket - 1), upper(bucket - 1)),
        _ => (upper(bucket - 1), upper(bucket)),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_bounds_contain_the_duration() {
        for exponent in 0..40 {
            for ns in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1] {
                let bucket = bucket_of(ns);
                let (low, high) = bounds(bucket);
                let last = bucket == BUCKETS - 1;
                assert!(
                    (ns > low || ns == 0) && (ns <= high || last),
                    "{ns} in {bucket}"
                );
            }
        }
        for bucket in 1..BUCKETS - 1 {
            assert_eq!(bounds(bucket).0, bounds(bucket - 1).1);
            assert_eq!(bucket_of(bounds(bucket).1), bucket);
        }
    }

    #[test]
    fn counts_are_cumulative() {
        let histogram = Histogram::default();
        for ns in [1, 4096, 4097, 8192, 8193, u64::MAX / 2] {
            histogram.add(Duration::from_nanos(ns));
        }
        let counted = histogram.counted();
        let bounds: Vec<(f64, u64)> = counted.cumulated().collect();
        assert_eq!(bounds[..3], [(4.096e-6, 2), (8.192e-6, 4), (1.6384e-5, 5)]);
        assert_eq!(bounds.last().map(|(_, count)| *count), Some(5));
        assert_eq!(counted.count(), 6);
    }

    #[test]
    fn quantile_is_within_a_quarter_of_the_exact_value() {
        let histogram = Histogram::default();
        assert_eq!(histogram.counted().quantile(0.5), None);
        for ms in 1..=100 {
            histogram.add(Duration::from_millis(ms));
        }
        let counted = histogram.counted();
        for (share, wanted) in [(0.5, 0.050), (0.99, 0.099)] {
            let found = counted.quantile(share).expect("the histogram is not empty");
            assert!((found / wanted - 1.0).abs() < 0.25, "{share}: {found}");
        }
        let later = {
            histogram.add(Duration::from_secs(1));
            histogram.counted()
        };
        assert_eq!(later.since(&counted).count(), 1);
        assert!((later.since(&counted).sum_seconds() - 1.0).abs() < 1e-9);
    }
}
