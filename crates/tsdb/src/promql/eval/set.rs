//! The set operators `and`, `or`, `unless`: they filter one side by the values that the other side
//! has at a step.

use std::collections::HashMap;

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::Labels;
use crate::promql::QueryError;
use crate::promql::absence::is_absent;
use crate::promql::plan::{Grouping, SetOperator};

impl Evaluation<'_> {
    /// The series that the operator keeps, with all their labels.
    pub(super) fn set(
        &self,
        operator: SetOperator,
        matching: &Grouping,
        mut left: Vec<Stepped>,
        mut right: Vec<Stepped>,
    ) -> Result<Vec<Stepped>, QueryError> {
        match operator {
            SetOperator::And => keep(&mut left, &Presence::new(&right, matching), true),
            SetOperator::Unless => keep(&mut left, &Presence::new(&right, matching), false),
            SetOperator::Or => {
                // From the right side, only values without a match on the left.
                keep(&mut right, &Presence::new(&left, matching), false);
                left.append(&mut right);
            }
        }
        merged(left)
    }
}

/// The steps at which any series with certain matching labels has a value.
struct Presence<'a> {
    matching: &'a Grouping,
    steps: HashMap<Labels, Vec<bool>>,
}

impl<'a> Presence<'a> {
    fn new(side: &[Stepped], matching: &'a Grouping) -> Self {
        let mut steps: HashMap<Labels, Vec<bool>> = HashMap::new();
        for series in side {
            let seen = steps
                .entry(matching.key(&series.labels))
                .or_insert_with(|| vec![false; series.values.len()]);
            for (seen, value) in seen.iter_mut().zip(&series.values) {
                *seen |= !is_absent(*value);
            }
        }
        Self { matching, steps }
    }
}

/// Keeps the values at the steps at which the other side has a match, or at those at which it has
/// none.
fn keep(side: &mut [Stepped], other: &Presence<'_>, where_present: bool) {
    for series in side {
        let present = other.steps.get(&other.matching.key(&series.labels));
        series.map(|step, value| {
            let matched = present.is_some_and(|present| present[step]);
            (matched == where_present).then_some(value)
        });
    }
}
