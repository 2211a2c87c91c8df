/// The logarithm of after divided by before: its mean, and how far that may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRatio {
    pub(super) mean: f64,
    /// The variance of the mean.
    variance: f64,
    /// Degrees of freedom that the variance was estimated with.
    freedom: f64,
}

impl LogRatio {
    /// Of samples of two runs that have nothing to do with each other (Welch).
    pub(super) fn of_samples(before: &[f64], after: &[f64]) -> Self {
        let [before, after] = [before, after].map(|samples| {
            let logarithms: Vec<f64> = samples.iter().map(|sample| sample.ln()).collect();
            Self::of_pairs(&logarithms)
        });
        let variance = before.variance + after.variance;
        let share = |side: Self| side.variance.powi(2) / side.freedom;
        Self {
            mean: after.mean - before.mean,
            variance,
            freedom: variance.powi(2) / (share(before) + share(after)),
        }
    }

    /// Of ratios that were each measured in one round.
    pub(super) fn of_pairs(ratios: &[f64]) -> Self {
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        Self {
            mean,
            // Of one value nothing is known: not a number, which no verdict rests on.
            variance: squares / (count - 1.0) / count,
            freedom: count - 1.0,
        }
    }

    /// The mean of the rows' logarithms; none without rows.
    pub(super) fn of_all(rows: &[Self]) -> Option<Self> {
        let count = rows.len() as f64;
        let freedom = rows.iter().map(|row| row.freedom);
        Some(Self {
            mean: rows.iter().map(|row| row.mean).sum::<f64>() / count,
            variance: rows.iter().map(|row| row.variance).sum::<f64>() / count.powi(2),
            freedom: freedom.reduce(f64::min)?,
        })
    }

    /// Half of the 95 % interval.
    pub(super) fn half_width(self) -> f64 {
        quantile(self.freedom) * self.variance.sqrt()
    }
}

/// The 97.5 % quantile of Student's t, to the second decimal.
fn quantile(freedom: f64) -> f64 {
    const SMALL: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    match SMALL.get(freedom.floor() as usize - usize::from(freedom >= 1.0)) {
        Some(quantile) => *quantile,
        None => 1.96 + 2.6 / freedom,
    }
}

#[cfg(test)]
mod tests {
    use super::{LogRatio, quantile};

    #[test]
    fn quantiles_are_those_of_the_table() {
        for (freedom, expected) in [(1.0, 12.71), (5.9, 2.57), (10.0, 2.23), (30.0, 2.04)] {
            let difference: f64 = quantile(freedom) - expected;
            assert!(difference.abs() < 0.02, "{freedom}: {difference}");
        }
    }

    #[test]
    fn one_round_proves_nothing() {
        let ratio = LogRatio::of_pairs(&[0.5]);
        assert!(ratio.half_width().is_nan());
    }
}
