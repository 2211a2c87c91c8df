/// The mean of log(after / before), and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRatio {
    pub(super) mean: f64,
    /// The variance of the mean.
    variance: f64,
    /// The degrees of freedom of the estimated variance.
    freedom: f64,
}

impl LogRatio {
    /// Computed from the samples of two independent runs, as in Welch's t-test.
    pub(super) fn of_samples(before: &[f64], after: &[f64]) -> Self {
        let [before, after] = [before, after].map(|samples| {
            let logarithms: Vec<f64> = samples.iter().map(|sample| sample.ln()).collect();
            Self::of_pairs(&logarithms)
        });
        // The variances of independent means add up.
        let variance = before.variance + after.variance;
        let share = |side: Self| side.variance.powi(2) / side.freedom;
        Self {
            mean: after.mean - before.mean,
            variance,
            freedom: variance.powi(2) / (share(before) + share(after)),
        }
    }

    /// Computed from the logarithms of ratios, one per round.
    pub(super) fn of_pairs(ratios: &[f64]) -> Self {
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        Self {
            mean,
            // A single value gives 0 / 0, which is not a number, so the verdict is `NotKnown`.
            variance: squares / (count - 1.0) / count,
            freedom: count - 1.0,
        }
    }

    /// The mean over rows; `None` without rows.
    pub(super) fn of_all(rows: &[Self]) -> Option<Self> {
        let count = rows.len() as f64;
        // The smallest number of degrees of freedom gives the widest interval, so the verdict is
        // cautious.
        let freedom = rows.iter().map(|row| row.freedom);
        Some(Self {
            mean: rows.iter().map(|row| row.mean).sum::<f64>() / count,
            variance: rows.iter().map(|row| row.variance).sum::<f64>() / count.powi(2),
            freedom: freedom.reduce(f64::min)?,
        })
    }

    /// Half the width of the 95 % interval.
    pub(super) fn half_width(self) -> f64 {
        quantile(self.freedom) * self.variance.sqrt()
    }
}

/// The 97.5 % quantile of Student's t, to the second decimal.
fn quantile(freedom: f64) -> f64 {
    const SMALL: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    match SMALL.get(freedom.floor() as usize - usize::from(freedom >= 1.0)) {
        Some(quantile) => *quantile,
        // An approximation that is exact to the second decimal above ten degrees of freedom.
        None => 1.96 + 2.6 / freedom,
    }
}

#[cfg(test)]
mod tests {
    use super::{LogRatio, quantile};

    #[test]
    fn quantiles_match_table() {
        for (freedom, expected) in [(1.0, 12.71), (5.9, 2.57), (10.0, 2.23), (30.0, 2.04)] {
            let difference: f64 = quantile(freedom) - expected;
            assert!(difference.abs() < 0.02, "{freedom}: {difference}");
        }
    }

    #[test]
    fn single_round_has_no_interval() {
        let ratio = LogRatio::of_pairs(&[0.5]);
        assert!(ratio.half_width().is_nan());
    }
}
