use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::accumulate::{Accumulate, Changes, Ends, Extremes, Sums};
use super::moments::Moments;
use super::quantile::Values;
use super::{Aggregate, with_accumulator};
use crate::{Labels, Sample, SelectedSeries, Selection};

/// The series of a [`Selection`] that are alike in some labels.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    labels: Labels,
    series: Vec<SelectedSeries<'a>>,
}

impl Selection {
    /// Puts series together that have the same values of the labels `names`, ordered by those.
    /// Without a name: all in one group.
    pub fn group_by(&self, names: &[&str]) -> Vec<Group<'_>> {
        let mut groups: BTreeMap<Labels, Vec<SelectedSeries<'_>>> = BTreeMap::new();
        for series in self.iter() {
            let labels = series
                .labels()
                .filtered(|label| names.contains(&label.name));
            groups.entry(labels).or_default().push(series);
        }
        let groups = groups.into_iter();
        groups
            .map(|(labels, series)| Group { labels, series })
            .collect()
    }
}

impl<'a> Group<'a> {
    /// The labels by which the series were grouped.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The series, one or more.
    pub fn series(&self) -> &[SelectedSeries<'a>] {
        &self.series
    }

    /// Each series becomes a number by `within`, and those become one by `across`, in the order of
    /// the series.
    pub fn aggregate(&self, within: Aggregate, across: Aggregate) -> Option<f64> {
        let values = self
            .series
            .iter()
            .filter_map(|series| series.aggregate(within));
        combine(across, &values.collect::<Vec<f64>>())
    }

    /// As [`Group::aggregate`], for each span of `step_ms`; see [`SelectedSeries::downsample`].
    pub fn downsample(
        &self,
        step_ms: NonZeroU64,
        within: Aggregate,
        across: Aggregate,
    ) -> Vec<Sample> {
        let mut spans: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for series in &self.series {
            for sample in series.downsample(step_ms, within) {
                spans
                    .entry(sample.timestamp_ms)
                    .or_default()
                    .push(sample.value);
            }
        }
        let combined = spans
            .into_iter()
            .filter_map(|(at, values)| Some(Sample::new(at, combine(across, &values)?)));
        combined.collect()
    }
}

/// One number for values of the same time.
fn combine(aggregate: Aggregate, values: &[f64]) -> Option<f64> {
    let times = vec![0; values.len()];
    with_accumulator!(aggregate, |state, finish| one(
        state, finish, &times, values
    ))
}

fn one<A: Accumulate>(
    mut state: A,
    finish: impl Fn(&A) -> Option<f64>,
    times: &[i64],
    values: &[f64],
) -> Option<f64> {
    if !values.is_empty() {
        state.samples(times, values);
    }
    if state.is_empty() {
        None
    } else {
        finish(&state)
    }
}
