//! The set operators `and`, `or`, `unless`: they keep a value or drop it, depending on whether the
//! other side has a match at the same step.

use std::collections::HashMap;

use super::budget::Budget;
use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::Labels;
use crate::QueryError;
use crate::absence::is_absent;
use crate::plan::{Grouping, SetOperator};

impl Evaluation<'_> {
    /// The series that the operator keeps, with all their labels.
    pub(super) fn set(
        &self,
        operator: SetOperator,
        matching: &Grouping,
        mut left: Vec<Stepped>,
        mut right: Vec<Stepped>,
    ) -> Result<Vec<Stepped>, QueryError> {
        let budget = &self.budget;
        let present = |side: &[Stepped]| Presence::new(budget, side, matching);
        match operator {
            SetOperator::And => keep(budget, &mut left, &present(&right)?, true)?,
            SetOperator::Unless => keep(budget, &mut left, &present(&right)?, false)?,
            SetOperator::Or => {
                // Keep only those values of the right side that have no match on the left.
                keep(budget, &mut right, &present(&left)?, false)?;
                left.append(&mut right);
            }
        }
        merged(&self.budget, left)
    }
}

/// For each set of matching labels, the steps at which a series with these labels has a value.
struct Presence<'a> {
    matching: &'a Grouping,
    steps: HashMap<Labels, Vec<bool>>,
}

impl<'a> Presence<'a> {
    fn new(budget: &Budget, side: &[Stepped], matching: &'a Grouping) -> Result<Self, QueryError> {
        let mut steps: HashMap<Labels, Vec<bool>> = HashMap::new();
        for series in side {
            budget.visit_series(series.values.len())?;
            let seen = steps
                .entry(matching.key(&series.labels))
                .or_insert_with(|| vec![false; series.values.len()]);
            for (seen, value) in seen.iter_mut().zip(&series.values) {
                *seen |= !is_absent(*value);
            }
        }
        Ok(Self { matching, steps })
    }
}

/// If `where_present` is true, keeps the values at the steps at which the other side has a match.
/// Otherwise keeps the values at the steps at which it has no match.
fn keep(
    budget: &Budget,
    side: &mut [Stepped],
    other: &Presence<'_>,
    where_present: bool,
) -> Result<(), QueryError> {
    for series in side {
        budget.visit_series(series.values.len())?;
        let present = other.steps.get(&other.matching.key(&series.labels));
        series.map(|step, value| {
            let matched = present.is_some_and(|present| present[step]);
            (matched == where_present).then_some(value)
        });
    }
    Ok(())
}
