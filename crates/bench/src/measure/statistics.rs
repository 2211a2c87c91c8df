use crate::result::Interval;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Fixed, so that a page rendered twice from one run is the same.
const SEED: u64 = 0x5EED;
const RESAMPLES: usize = 2_000;

/// The mean of the samples with its 95 % bootstrap interval.
pub(super) fn mean(samples: &[f64]) -> Interval {
    bootstrap(samples, |values| {
        values.iter().sum::<f64>() / values.len().max(1) as f64
    })
}

/// The median of the samples with its 95 % bootstrap interval.
pub(super) fn median(samples: &[f64]) -> Interval {
    bootstrap(samples, |values| {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match values.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => values[middle],
            _ => f64::midpoint(values[middle - 1], values[middle]),
        }
    })
}

fn bootstrap(samples: &[f64], statistic: impl Fn(&mut [f64]) -> f64) -> Interval {
    let value = statistic(&mut samples.to_vec());
    if samples.len() < 2 {
        return Interval {
            value,
            low: value,
            high: value,
        };
    }
    let mut random = StdRng::seed_from_u64(SEED);
    let mut drawn = vec![0.0; samples.len()];
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| samples[random.random_range(0..samples.len())]);
            statistic(&mut drawn)
        })
        .collect();
    resampled.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Interval {
        value,
        low: resampled[tail],
        high: resampled[RESAMPLES - 1 - tail],
    }
}
