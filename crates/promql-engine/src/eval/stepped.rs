use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::budget::Budget;
use crate::Labels;
use crate::QueryError;
use crate::absence::{ABSENT, is_absent};
use crate::labels::without_name;

/// A series with a value, or none, at each step.
pub(super) struct Stepped {
    pub(super) labels: Labels,
    /// Whether the answer omits the metric's name. Until then the name stays in the labels, so that
    /// `by`, `on` and `label_replace` can use it.
    pub(super) drops_name: bool,
    pub(super) values: Vec<f64>,
}

impl Stepped {
    /// A series without a value at any of `count` steps.
    pub(super) fn absent(labels: Labels, count: usize) -> Self {
        Self::new(labels, vec![ABSENT; count])
    }

    /// A series that keeps its name.
    pub(super) fn new(labels: Labels, values: Vec<f64>) -> Self {
        Self {
            labels,
            drops_name: false,
            values,
        }
    }

    /// Whether the series has no value at any step.
    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(|value| is_absent(*value))
    }

    /// Replaces each present value by the result of the function. `None` removes the value.
    pub(super) fn map(&mut self, mut function: impl FnMut(usize, f64) -> Option<f64>) {
        for (step, value) in self.values.iter_mut().enumerate() {
            if !is_absent(*value) {
                *value = function(step, *value).unwrap_or(ABSENT);
            }
        }
    }
}

/// Merges series with the same labels into one that has the values of all. Two values at one step
/// are an error. Drops series without values. A series that drops its name is not merged with one
/// that keeps it.
pub(super) fn merged(budget: &Budget, series: Vec<Stepped>) -> Result<Vec<Stepped>, QueryError> {
    let mut indexes: HashMap<(Labels, bool), usize> = HashMap::with_capacity(series.len());
    let mut out: Vec<Stepped> = Vec::with_capacity(series.len());
    for next in series {
        budget.visit_series(next.values.len())?;
        if next.is_empty() {
            continue;
        }
        match indexes.entry((next.labels.clone(), next.drops_name)) {
            Entry::Occupied(index) => merge(&mut out[*index.get()], &next)?,
            Entry::Vacant(vacant) => {
                vacant.insert(out.len());
                out.push(next);
            }
        }
    }
    Ok(out)
}

/// The series as an answer shows them: without the names that functions and operators drop.
pub(super) fn settled(
    budget: &Budget,
    mut series: Vec<Stepped>,
) -> Result<Vec<Stepped>, QueryError> {
    for series in series.iter_mut().filter(|series| series.drops_name) {
        budget.visit_series(0)?;
        series.labels = without_name(&series.labels);
        series.drops_name = false;
    }
    merged(budget, series)
}

fn merge(into: &mut Stepped, from: &Stepped) -> Result<(), QueryError> {
    for (value, &other) in into.values.iter_mut().zip(&from.values) {
        if is_absent(other) {
            continue;
        }
        if !is_absent(*value) {
            return Err(QueryError::SameLabels {
                labels: from.labels.clone(),
            });
        }
        *value = other;
    }
    Ok(())
}
