//! The set operators `and`, `or`, `unless`: they keep a value or drop it, depending on whether the
//! other side has a match at the same step.

use std::collections::HashMap;

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
        match operator {
            SetOperator::And => keep(&mut left, &Presence::new(&right, matching), true),
            SetOperator::Unless => keep(&mut left, &Presence::new(&right, matching), false),
            SetOperator::Or => {
                // Keep only those values of the right side that have no match on the left.
                keep(&mut right, &Presence::new(&left, matching), false);
                left.append(&mut right);
            }
        }
        merged(left)
    }
}

/// For each set of matching labels, the steps at which a series with these labels has a value.
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

/// If `where_present` is true, keeps the values at the steps at which the other side has a match.
/// Otherwise keeps the values at the steps at which it has no match.
fn keep(side: &mut [Stepped], other: &Presence<'_>, where_present: bool) {
    for series in side {
        let present = other.steps.get(&other.matching.key(&series.labels));
        series.map(|step, value| {
            let matched = present.is_some_and(|present| present[step]);
            (matched == where_present).then_some(value)
        });
    }
}
