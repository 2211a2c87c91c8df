//! `info` adds the labels of info metrics, such as `target_info`, to the series of the same target.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::stepped::merged;
use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::absence::is_absent;
use crate::labels::{value_of, with_label};
use crate::plan::{Extent, InfoSelector, Selector, Vector};
use crate::steps::Steps;
use crate::{Labels, METRIC_NAME, MatchOp, Matcher};

/// The labels that a series shares with the info series of its target.
const IDENTIFYING: [&str; 2] = ["instance", "job"];

impl Evaluation<'_> {
    /// The series, each with the labels of the info series that have the same `instance` and `job`.
    /// A label that a series has already stays as it is. Info series themselves are not changed.
    ///
    /// At a step without such an info series, a series stays as it is if the matchers accept an
    /// absent label; otherwise it has no value there.
    pub(super) fn info(
        &self,
        operand: &Vector,
        info: &InfoSelector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let series = self.vector(operand, steps)?;
        let is_info = |series: &Stepped| info.names.iter().all(|name| name.matches(&series.labels));
        let (mut out, others): (Vec<_>, Vec<_>) = series.into_iter().partition(is_info);
        let targets = self.targets(self.info_series(info, &others, steps)?)?;
        for series in others {
            self.add_labels(info, &targets, &series, &mut out)?;
        }
        merged(&self.budget, out)
    }

    /// The info series of these series' targets. Their values are the times of their samples.
    fn info_series(
        &self,
        info: &InfoSelector,
        series: &[Stepped],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let mut matchers = [&info.names[..], &info.labels].concat();
        for name in IDENTIFYING {
            matchers.push(any_value_of(name, series)?);
        }
        let selector = Selector {
            matchers,
            placement: info.placement,
            extent: Extent::Inside,
        };
        self.select(&selector, steps, |(time, _)| time as f64)
    }

    fn targets(&self, series: Vec<Stepped>) -> Result<Targets, QueryError> {
        let mut by_target: HashMap<Labels, HashMap<String, Vec<usize>>> = HashMap::new();
        for (index, next) in series.iter().enumerate() {
            self.budget.visit_series(0)?;
            let metrics = by_target.entry(target(&next.labels)).or_default();
            let metric = next.labels.metric().to_owned();
            metrics.entry(metric).or_default().push(index);
        }
        Ok(Targets { series, by_target })
    }

    /// Splits the series by the labels that it gets at each step.
    fn add_labels(
        &self,
        info: &InfoSelector,
        targets: &Targets,
        series: &Stepped,
        out: &mut Vec<Stepped>,
    ) -> Result<(), QueryError> {
        let accepts_absent = info.labels.iter().all(|matcher| matcher.matches_value(""));
        let mut by_found: BTreeMap<Vec<usize>, Stepped> = BTreeMap::new();
        for (step, &value) in series.values.iter().enumerate() {
            if is_absent(value) {
                continue;
            }
            self.budget.visit_series(0)?;
            let found = targets.at(&series.labels, step)?;
            if found.is_empty() && !accepts_absent {
                continue;
            }
            let result = match by_found.entry(found) {
                Entry::Occupied(result) => result.into_mut(),
                Entry::Vacant(vacant) => {
                    self.budget.hold(series.values.len())?;
                    let labels = info.extended(&series.labels, targets, vacant.key())?;
                    vacant.insert(Stepped {
                        drops_name: series.drops_name,
                        ..Stepped::absent(labels, series.values.len())
                    })
                }
            };
            result.values[step] = value;
        }
        out.extend(by_found.into_values());
        Ok(())
    }
}

impl InfoSelector {
    /// The labels of a series with those that the found info series add.
    fn extended(
        &self,
        base: &Labels,
        targets: &Targets,
        found: &[usize],
    ) -> Result<Labels, QueryError> {
        let mut labels = base.clone();
        for &index in found {
            for label in targets.series[index].labels.iter() {
                let is_wanted = self.labels.is_empty()
                    || self
                        .labels
                        .iter()
                        .any(|matcher| matcher.name() == label.name);
                if label.name == METRIC_NAME || !is_wanted || base.get(label.name).is_some() {
                    continue;
                }
                match labels.get(label.name) {
                    Some(other) if other != label.value => return Err(conflict(base)),
                    _ => labels = with_label(&labels, label.name, label.value)?,
                }
            }
        }
        Ok(labels)
    }
}

/// Info series by the target that they describe.
struct Targets {
    series: Vec<Stepped>,
    /// For each target, the indexes of its info series by metric.
    by_target: HashMap<Labels, HashMap<String, Vec<usize>>>,
}

impl Targets {
    /// The info series of the target at a step: of each metric the one with the latest sample.
    fn at(&self, labels: &Labels, step: usize) -> Result<Vec<usize>, QueryError> {
        let target = target(labels);
        let metrics = match self.by_target.get(&target) {
            Some(metrics) if !target.is_empty() => metrics,
            _ => return Ok(Vec::new()),
        };
        let mut found = Vec::with_capacity(metrics.len());
        for candidates in metrics.values() {
            found.extend(self.latest(candidates, step)?);
        }
        found.sort_unstable();
        Ok(found)
    }

    fn latest(&self, candidates: &[usize], step: usize) -> Result<Option<usize>, QueryError> {
        let time = |index: usize| self.series[index].values[step];
        let mut latest: Option<usize> = None;
        let mut is_tie = false;
        for &index in candidates.iter().filter(|index| !is_absent(time(**index))) {
            match latest.map(|latest| time(index).total_cmp(&time(latest))) {
                None | Some(Ordering::Greater) => (latest, is_tie) = (Some(index), false),
                Some(Ordering::Equal) => is_tie = true,
                Some(Ordering::Less) => {}
            }
        }
        match latest {
            Some(index) if is_tie => Err(conflict(&self.series[index].labels)),
            latest => Ok(latest),
        }
    }
}

fn conflict(labels: &Labels) -> QueryError {
    let target = target(labels);
    QueryError::ConflictingInfo { target }
}

/// The labels that identify the target of a series.
fn target(labels: &Labels) -> Labels {
    labels.filtered(|label| IDENTIFYING.contains(&label.name))
}

/// The condition that a label has one of the values that it has in these series. A series without
/// the label has an empty value.
fn any_value_of(name: &str, series: &[Stepped]) -> Result<Matcher, QueryError> {
    let values = series.iter().map(|series| value_of(&series.labels, name));
    let values: BTreeSet<&str> = values.collect();
    let values: Vec<String> = values.into_iter().map(regex::escape).collect();
    Ok(Matcher::new(name, MatchOp::Matches, values.join("|"))?)
}
