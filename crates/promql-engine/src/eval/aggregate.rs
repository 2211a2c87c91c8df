//! Aggregations over groups of series.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::sampling;
use super::sorted::compare;
use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::Labels;
use crate::QueryError;
use crate::absence::{ABSENT, is_absent};
use crate::functions::statistics;
use crate::labels::{with_label, without_name};
use crate::number::push_plain;
use crate::plan::{Aggregation, Grouping, Vector};
use crate::steps::Steps;

/// The series of a group.
struct Group {
    labels: Labels,
    /// Whether one of the series drops its name. Then the result drops it too.
    drops_name: bool,
    series: Vec<Stepped>,
}

impl Group {
    /// A result of this group, without a value yet.
    fn result(&self, labels: Labels, steps: Steps) -> Stepped {
        Stepped {
            drops_name: self.drops_name,
            ..Stepped::absent(labels, steps.count())
        }
    }
}

impl Evaluation<'_> {
    /// The series of an aggregation.
    pub(super) fn aggregate(
        &self,
        aggregation: &Aggregation,
        grouping: &Grouping,
        operand: &Vector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let groups = self.groups(self.vector(operand, steps)?, grouping)?;
        match aggregation {
            Aggregation::Fold(fold) => self.folded(groups, steps, |_, values| fold(values)),
            Aggregation::Quantile(wanted) => {
                let wanted = self.scalar(wanted, steps)?;
                self.folded(groups, steps, |step, values| {
                    statistics::quantile(values, wanted[step])
                })
            }
            Aggregation::Top(count) => {
                let counts = counts("topk", self.scalar(count, steps)?)?;
                self.ranked(groups, &counts, true)
            }
            Aggregation::Bottom(count) => {
                let counts = counts("bottomk", self.scalar(count, steps)?)?;
                self.ranked(groups, &counts, false)
            }
            Aggregation::First(count) => {
                let counts = counts("limitk", self.scalar(count, steps)?)?;
                self.first(groups, &counts)
            }
            Aggregation::Share(share) => self.share(groups, &self.scalar(share, steps)?),
            Aggregation::CountValues(label) => self.value_counts(groups, label, steps),
        }
    }

    fn groups(&self, series: Vec<Stepped>, grouping: &Grouping) -> Result<Vec<Group>, QueryError> {
        let mut indexes: HashMap<Labels, usize> = HashMap::new();
        let mut out: Vec<Group> = Vec::new();
        for series in series {
            self.budget.visit_series(0)?;
            let labels = grouping.key(&series.labels);
            let index = *indexes.entry(labels.clone()).or_insert(out.len());
            if index == out.len() {
                out.push(Group {
                    labels,
                    drops_name: false,
                    series: Vec::new(),
                });
            }
            out[index].drops_name |= series.drops_name;
            out[index].series.push(series);
        }
        // `ranked` passes this order of the groups on to the answer.
        out.sort_unstable_by(|one, other| one.labels.cmp(&other.labels));
        Ok(out)
    }

    /// Reduces each group to one series by a function of its values.
    fn folded(
        &self,
        groups: Vec<Group>,
        steps: Steps,
        fold: impl Fn(usize, &mut [f64]) -> f64,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut values = Vec::new();
        let mut out = Vec::with_capacity(groups.len());
        for group in groups {
            self.budget.hold(steps.count())?;
            let mut result = group.result(group.labels.clone(), steps);
            for (step, slot) in result.values.iter_mut().enumerate() {
                self.budget.visit(group.series.len())?;
                let here = group.series.iter().map(|series| series.values[step]);
                values.clear();
                values.extend(here.filter(|value| !is_absent(*value)));
                if !values.is_empty() {
                    *slot = fold(step, &mut values);
                }
            }
            out.push(result);
        }
        Ok(out)
    }

    /// At each step, keeps only the values that rank first in their group. Orders the series of a
    /// group by their last value.
    fn ranked(
        &self,
        groups: Vec<Group>,
        counts: &[usize],
        descending: bool,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut out = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        for Group { mut series, .. } in groups {
            for (step, &count) in counts.iter().enumerate() {
                order.clear();
                order.extend(
                    (0..series.len()).filter(|&index| !is_absent(series[index].values[step])),
                );
                let value = |index: usize| series[index].values[step];
                order.sort_by(|&one, &other| compare(value(one), value(other), descending));
                for &index in order.iter().skip(count) {
                    series[index].values[step] = ABSENT;
                }
                self.budget.visit(series.len())?;
            }
            // An instant query keeps this order; a range query sorts by labels.
            let last = |series: &Stepped| series.values.last().copied().unwrap_or(ABSENT);
            series.sort_by(|one, other| compare(last(one), last(other), descending));
            out.append(&mut series);
        }
        out.retain(|series| !series.is_empty());
        Ok(out)
    }

    /// At each step, keeps only the values of the first series of each group that have one.
    fn first(&self, groups: Vec<Group>, counts: &[usize]) -> Result<Vec<Stepped>, QueryError> {
        let mut out = Vec::new();
        for Group { mut series, .. } in groups {
            let mut left = counts.to_vec();
            for series in &mut series {
                self.budget.visit_series(counts.len())?;
                series.map(|step, value| {
                    left[step] = left[step].checked_sub(1)?;
                    Some(value)
                });
            }
            out.append(&mut series);
        }
        out.retain(|series| !series.is_empty());
        Ok(out)
    }

    /// At each step, keeps only the series whose place between 0 and 1 is below the share; for a
    /// negative share, those that 1 plus the share would leave out.
    fn share(&self, groups: Vec<Group>, shares: &[f64]) -> Result<Vec<Stepped>, QueryError> {
        if shares.iter().any(|share| share.is_nan()) {
            return Err(is_nan("limit_ratio", "the ratio"));
        }
        let mut out = Vec::new();
        for mut series in groups.into_iter().flat_map(|group| group.series) {
            self.budget.visit_series(shares.len())?;
            let place = sampling::place(&series.labels);
            series.map(|step, value| {
                let share = shares[step];
                let is_kept = if share < 0.0 {
                    place >= 1.0 + share
                } else {
                    place < share
                };
                is_kept.then_some(value)
            });
            out.push(series);
        }
        out.retain(|series| !series.is_empty());
        Ok(out)
    }

    /// Counts the series of a group by value. The value becomes a label.
    fn value_counts(
        &self,
        groups: Vec<Group>,
        label: &str,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut out = Vec::new();
        for group in groups {
            let mut by_value: HashMap<String, Stepped> = HashMap::new();
            for series in &group.series {
                self.budget.visit(series.values.len())?;
                for (step, &value) in series.values.iter().enumerate() {
                    if is_absent(value) {
                        continue;
                    }
                    let counted = match by_value.entry(value_text(value)) {
                        Entry::Occupied(counted) => counted.into_mut(),
                        Entry::Vacant(vacant) => {
                            // Each distinct value creates a series, so values that rarely repeat
                            // are expensive.
                            self.budget.hold(steps.count())?;
                            let labels = with_label(&group.labels, label, vacant.key())?;
                            vacant.insert(group.result(labels, steps))
                        }
                    };
                    let slot = &mut counted.values[step];
                    *slot = if is_absent(*slot) { 1.0 } else { *slot + 1.0 };
                }
            }
            out.extend(by_value.into_values());
        }
        merged(&self.budget, out)
    }
}

fn value_text(value: f64) -> String {
    // Unlike `Display`, Prometheus writes infinities with a sign and a capital.
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        }
        .into();
    }
    let mut text = String::new();
    push_plain(&mut text, value);
    text
}

/// The parameter of `topk`, `bottomk` and `limitk` as the number of series at each step.
fn counts(function: &'static str, wanted: Vec<f64>) -> Result<Vec<usize>, QueryError> {
    if wanted.iter().any(|count| count.is_nan()) {
        return Err(is_nan(function, "the number of series"));
    }
    // The cast turns a negative number into 0, and a number that is too large into `usize::MAX`.
    Ok(wanted.into_iter().map(|count| count as usize).collect())
}

fn is_nan(function: &'static str, parameter: &'static str) -> QueryError {
    QueryError::Parameter {
        function,
        parameter,
        reason: "it is NaN".into(),
    }
}

impl Grouping {
    /// The labels of a series that decide to which group it belongs, or which series it matches.
    pub(super) fn key(&self, all: &Labels) -> Labels {
        match self {
            Self::Only(names) => all.filtered(|label| names.iter().any(|name| name == label.name)),
            Self::Without(names) => {
                without_name(all).filtered(|label| names.iter().all(|name| name != label.name))
            }
        }
    }
}
