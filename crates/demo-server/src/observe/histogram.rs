use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The first bound is 2^12 ns, about 4 µs.
const FIRST: u32 = 12;
/// The last is 2^36 ns, about 69 s.
const LAST: u32 = 36;
/// Buckets to each power of two: a quantile is wrong by at most a fourth.
const PARTS: usize = 4;
/// Those between the bounds, one below and one above.
const BUCKETS: usize = (LAST - FIRST) as usize * PARTS + 2;

/// Durations, counted by size.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

/// What a [`Histogram`] had counted at one time.
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
        self.buckets[bucket_of(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            buckets: std::array::from_fn(|place| self.buckets[place].load(Ordering::Relaxed)),
            sum_ns: self.sum_ns.load(Ordering::Relaxed),
        }
    }
}

impl Counted {
    /// Nothing.
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
        for (own, other) in self.buckets.iter_mut().zip(other.buckets) {
            *own += other;
        }
        self.sum_ns += other.sum_ns;
    }

    /// What was counted after `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            buckets: std::array::from_fn(|place| self.buckets[place] - earlier.buckets[place]),
            sum_ns: self.sum_ns.wrapping_sub(earlier.sum_ns),
        }
    }

    /// The bounds that are powers of two, in seconds, each with the number of durations up to it.
    pub(super) fn cumulated(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let (mut count, mut place) = (0, 0);
        (FIRST..=LAST).map(move |exponent| {
            let end = (exponent - FIRST) as usize * PARTS;
            count += self.buckets[place..=end].iter().sum::<u64>();
            place = end + 1;
            (seconds(1 << exponent), count)
        })
    }

    /// The duration, in seconds, that the given share of all does not exceed; `None` of none.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share * self.count() as f64;
        let mut before = 0;
        for (place, &count) in self.buckets.iter().enumerate() {
            if count > 0 && (before + count) as f64 >= rank {
                let (low, high) = bounds(place);
                let part = (rank - before as f64) / count as f64;
                return Some(seconds(low) + seconds(high - low) * part);
            }
            before += count;
        }
        None
    }
}

/// The bucket whose upper bound is the first that `ns` does not exceed.
fn bucket_of(ns: u64) -> usize {
    let below = ns.saturating_sub(1);
    let exponent = below.checked_ilog2().unwrap_or(0);
    if exponent < FIRST {
        0
    } else if exponent >= LAST {
        BUCKETS - 1
    } else {
        // The two bits after the first are the fourth of the power that it is in.
        let part = (below >> (exponent - 2)) as usize % PARTS;
        1 + (exponent - FIRST) as usize * PARTS + part
    }
}

/// What the durations of a bucket exceed, and what they don't, in ns. Of the last bucket, which has
/// no upper bound, both are the lower one.
fn bounds(place: usize) -> (u64, u64) {
    let upper = |place: usize| {
        let (power, part) = (FIRST + (place / PARTS) as u32, place % PARTS);
        ((PARTS + part) as u64) << (power - 2)
    };
    match place {
        0 => (0, upper(0)),
        _ if place == BUCKETS - 1 => (upper(place - 1), upper(place - 1)),
        _ => (upper(place - 1), upper(place)),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_bucket_whose_bounds_hold_it() {
        for exponent in 0..40 {
            for ns in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1] {
                let place = bucket_of(ns);
                let (low, high) = bounds(place);
                let last = place == BUCKETS - 1;
                assert!(
                    (ns > low || ns == 0) && (ns <= high || last),
                    "{ns} in {place}"
                );
            }
        }
        for place in 1..BUCKETS - 1 {
            assert_eq!(bounds(place).0, bounds(place - 1).1);
            assert_eq!(bucket_of(bounds(place).1), place);
        }
    }

    #[test]
    fn bounds_are_cumulated() {
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
    fn quantiles_are_between_the_bounds() {
        let histogram = Histogram::default();
        assert_eq!(histogram.counted().quantile(0.5), None);
        for ms in 1..=100 {
            histogram.add(Duration::from_millis(ms));
        }
        let counted = histogram.counted();
        for (share, wanted) in [(0.5, 0.050), (0.99, 0.099)] {
            let found = counted.quantile(share).expect("a quantile");
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
