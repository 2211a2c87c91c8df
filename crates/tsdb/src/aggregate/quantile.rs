use std::cmp::Ordering;

use super::accumulate::Accumulate;
use crate::is_stale;

/// The state for quantiles: all values.
#[derive(Default)]
pub(super) struct Values(Vec<f64>);

impl Values {
    /// Computes the quantile like Prometheus: NaN sorts before all numbers.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        if share.is_nan() {
            return Some(f64::NAN);
        }
        if share < 0.0 {
            return Some(f64::NEG_INFINITY);
        }
        if share > 1.0 {
            return Some(f64::INFINITY);
        }
        // Copy the values, because the selection reorders them.
        let mut values = self.0.clone();
        let rank = share * (values.len() - 1) as f64;
        let (_, lower, rest) = values.select_nth_unstable_by(rank as usize, order);
        let lower = *lower;
        let upper = rest.iter().copied().min_by(order).unwrap_or(lower);
        let weight = rank.fract();
        Some(lower * (1.0 - weight) + upper * weight)
    }
}

impl Accumulate for Values {
    fn samples(&mut self, _: &[i64], values: &[f64]) {
        let values = values.iter().copied().filter(|value| !is_stale(*value));
        self.0.extend(values);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Orders every NaN before all numbers. `total_cmp` alone would put positive NaNs last.
fn order(one: &f64, other: &f64) -> Ordering {
    let nan = other.is_nan().cmp(&one.is_nan());
    nan.then_with(|| one.total_cmp(other))
}
