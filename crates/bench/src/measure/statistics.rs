use crate::result::Interval;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A fixed seed, so that the same samples always give the same interval.
const SEED: u64 = 0x5EED;
const RESAMPLES: usize = 2_000;

/// The mean of the samples with its 95 % bootstrap interval.
pub(super) fn mean(samples: &[f64]) -> Interval {
    bootstrap(samples, |values| {
        values.iter().sum::<f64>() / values.len().max(1) as f64
    })
}

/// The median of the samples with its 95 % bootstrap interval.
pub(crate) fn median(samples: &[f64]) -> Interval {
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
    // 2.5 % at each end.
    let tail = RESAMPLES / 40;
    Interval {
        value,
        low: resampled[tail],
        high: resampled[RESAMPLES - 1 - tail],
    }
}

#[cfg(test)]
mod tests {
    use super::{mean, median};

    #[test]
    fn outlier_moves_mean_but_not_median() {
        let samples = [1.0, 2.0, 3.0, 2.0, 92.0];
        assert_eq!(mean(&samples).value, 20.0);
        assert_eq!(median(&samples).value, 2.0);
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0]).value, 2.5);
    }

    #[test]
    fn interval_contains_value_and_stays_within_samples() {
        let samples: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = mean(&samples);
        assert!(
            1.0 < interval.low && interval.low < interval.value,
            "{interval:?}"
        );
        assert!(
            interval.value < interval.high && interval.high < 20.0,
            "{interval:?}"
        );
        assert_eq!(
            interval,
            mean(&samples),
            "the same samples give the same interval"
        );
    }
}
