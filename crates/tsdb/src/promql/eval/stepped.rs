use std::collections::HashMap;

use crate::Labels;
use crate::promql::QueryError;
use crate::promql::absence::{ABSENT, is_absent};

/// A series with a value, or none, at each step.
pub(super) struct Stepped {
    pub(super) labels: Labels,
    pub(super) values: Vec<f64>,
}

impl Stepped {
    /// A series without a value at any of `count` steps.
    pub(super) fn absent(labels: Labels, count: usize) -> Self {
        Self {
            labels,
            values: vec![ABSENT; count],
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
/// are an error. Drops series without values.
pub(super) fn merged(mut series: Vec<Stepped>) -> Result<Vec<Stepped>, QueryError> {
    series.retain(|series| !series.is_empty());
    let mut indexes: HashMap<Labels, usize> = HashMap::with_capacity(series.len());
    let mut out: Vec<Stepped> = Vec::with_capacity(series.len());
    for next in series {
        match indexes.get(&next.labels) {
            Some(&index) => merge(&mut out[index], &next)?,
            None => {
                indexes.insert(next.labels.clone(), out.len());
                out.push(next);
            }
        }
    }
    Ok(out)
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
