//! `sort` and `sort_desc` order the series by value. Only an instant query shows the order.

use std::cmp::Ordering;

use super::{Evaluation, Stepped};
use crate::promql::QueryError;
use crate::promql::plan::Vector;
use crate::promql::steps::Steps;

impl Evaluation<'_> {
    /// The series, ordered by their last value. NaN comes last.
    pub(super) fn sorted(
        &self,
        operand: &Vector,
        descending: bool,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(operand, steps)?;
        let last = |series: &Stepped| series.values.last().copied().unwrap_or(f64::NAN);
        series.sort_by(|one, other| compare(last(one), last(other), descending));
        Ok(series)
    }
}

/// The order of two values, with NaN last in either direction.
pub(super) fn compare(one: f64, other: f64, descending: bool) -> Ordering {
    match (one.is_nan(), other.is_nan()) {
        (false, false) if descending => other.total_cmp(&one),
        (false, false) => one.total_cmp(&other),
        (one, other) => one.cmp(&other),
    }
}
