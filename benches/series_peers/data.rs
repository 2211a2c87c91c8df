//! The samples: 480 counters of a histogram's buckets, and 114 gauges, every 5 s for three hours.

use bench::Profile;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tsdb::{Labels, Sample};

const SEED: u64 = 39;
/// 2023-11-14 22:13:20, a multiple of every step.
pub(crate) const START_MS: i64 = 1_700_000_000_000;
const INTERVAL_MS: i64 = 5_000;
const INSTANCES: usize = 10;
const PATHS: usize = 4;
const BOUNDS: [&str; 12] = [
    "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf",
];
/// The series of the gauge `x`.
pub(crate) const FEW: usize = 12;
/// The series of the gauge `y`.
pub(crate) const MANY: usize = 102;
/// The counters.
pub(crate) const BUCKETS: usize = INSTANCES * PATHS * BOUNDS.len();
pub(crate) const ALL: usize = BUCKETS + FEW + MANY;

pub(crate) type Series = (Labels, Vec<Sample>);

/// The length of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data {
    /// The samples of each series.
    pub(crate) samples: usize,
}

impl Data {
    pub(crate) fn for_profile(profile: &Profile) -> Self {
        let samples = if profile.is_smoke() { 60 } else { 2_160 };
        Self { samples }
    }

    /// The time of the last sample.
    pub(crate) fn end_ms(self) -> i64 {
        START_MS + (self.samples as i64 - 1) * INTERVAL_MS
    }

    pub(crate) fn series(self) -> Result<Vec<Series>, tsdb::Error> {
        let mut random = StdRng::seed_from_u64(SEED);
        let mut all = Vec::with_capacity(ALL);
        for instance in 0..INSTANCES {
            for path in 0..PATHS {
                all.append(&mut self.histogram(instance, path, &mut random)?);
            }
        }
        for (name, count) in [("x", FEW), ("y", MANY)] {
            for number in 0..count {
                let instance = format!("host-{}", number % FEW);
                let core = (number / FEW).to_string();
                let labels = [("instance", instance), ("core", core)];
                all.push((Labels::new(name, labels)?, self.gauge(&mut random)));
            }
        }
        Ok(all)
    }

    /// The buckets of a histogram: observations come at random, and the process restarts now and then.
    fn histogram(
        self,
        instance: usize,
        path: usize,
        random: &mut StdRng,
    ) -> Result<Vec<Series>, tsdb::Error> {
        let mut counts = [0_u32; BOUNDS.len()];
        let mut buckets = vec![Vec::with_capacity(self.samples); BOUNDS.len()];
        for time_ms in self.times() {
            if random.random_ratio(1, 1_500) {
                counts = [0; BOUNDS.len()];
            }
            for _ in 0..random.random_range(0..40) {
                let lowest = random.random_range(0..BOUNDS.len());
                counts[lowest..].iter_mut().for_each(|count| *count += 1);
            }
            for (bucket, count) in buckets.iter_mut().zip(counts) {
                bucket.push(Sample::new(time_ms, f64::from(count)));
            }
        }
        let labelled = BOUNDS.iter().zip(buckets).map(|(bound, samples)| {
            let labels = [
                ("instance", format!("host-{instance}")),
                ("path", format!("/path/{path}")),
                ("le", (*bound).to_owned()),
            ];
            Ok((Labels::new("bucket", labels)?, samples))
        });
        labelled.collect()
    }

    /// A random walk in hundredths.
    fn gauge(self, random: &mut StdRng) -> Vec<Sample> {
        let mut hundredths = 5_000;
        let walk = self.times().map(|time_ms| {
            hundredths += random.random_range(-100..=100);
            Sample::new(time_ms, f64::from(hundredths) / 100.0)
        });
        walk.collect()
    }

    fn times(self) -> impl Iterator<Item = i64> {
        (0..self.samples as i64).map(|index| START_MS + index * INTERVAL_MS)
    }
}
