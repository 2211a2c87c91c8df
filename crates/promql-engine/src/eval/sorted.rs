//! `sort` and `sort_desc` order the series by value, `sort_by_label` and `sort_by_label_desc` by
//! labels. Only an instant query shows the order.

use std::cmp::Ordering;

use super::{Evaluation, Stepped};
use crate::labels::value_of;
use crate::plan::Vector;
use crate::steps::Steps;
use crate::{QueryError, natural};

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

    /// The series in the natural order of the first of these labels that differs. If none does, all
    /// labels decide.
    pub(super) fn sorted_by_labels(
        &self,
        operand: &Vector,
        names: &[String],
        descending: bool,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut series = self.vector(operand, steps)?;
        series.sort_by(|one, other| {
            let (one, other) = (&one.labels, &other.labels);
            let by_name = |name| natural::compare(value_of(one, name), value_of(other, name));
            let mut orders = names.iter().map(|name| by_name(name));
            let order = orders.find(|order| order.is_ne());
            let order = order.unwrap_or_else(|| one.cmp(other));
            if descending { order.reverse() } else { order }
        });
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
