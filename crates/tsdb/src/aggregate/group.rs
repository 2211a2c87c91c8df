use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::accumulate::{Accumulate, Changes, Ends, Extremes, Sums};
use super::moments::Moments;
use super::quantile::Values;
use super::{Aggregate, with_accumulator};
use crate::{Labels, Sample, SelectedSeries, Selection};

/// Series of a [`Selection`] that share the values of some labels. Created by
/// [`Selection::group_by`].
#[derive(Clone, Debug)]
pub struct Group<'a> {
    labels: Labels,
    series: Vec<SelectedSeries<'a>>,
}

impl Selection {
    /// Groups the series by the values of the labels `names`. The groups are sorted by these
    /// values. Without names, all series form one group.
    ///
    /// ```
    /// use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// for (host, dc, requests) in [("a", "north", 2.0), ("b", "north", 3.0), ("c", "south", 4.0)] {
    ///     let labels = Labels::new("requests", [("host", host), ("dc", dc)])?;
    ///     db.append(&labels, Sample::new(1000, requests))?;
    /// }
    /// let found = db.select(&[Matcher::metric("requests")], 0, 60_000);
    /// let north = &found.group_by(&["dc"])[0];
    /// assert_eq!(north.labels().get("dc"), Some("north"));
    /// assert_eq!(north.aggregate(Aggregate::Last, Aggregate::Sum), Some(5.0));
    /// # Ok::<(), tsdb::Error>(())
    /// ```
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
    /// Returns the labels and values that the series share.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the series; at least one.
    pub fn series(&self) -> &[SelectedSeries<'a>] {
        &self.series
    }

    /// Aggregates each series by `within`, and then the results by `across`, in the order of the
    /// series. `None` if no series has a result.
    pub fn aggregate(&self, within: Aggregate, across: Aggregate) -> Option<f64> {
        let values = self
            .series
            .iter()
            .filter_map(|series| series.aggregate(within));
        combine(across, &values.collect::<Vec<f64>>())
    }

    /// Aggregates like [`Group::aggregate`] in each span of `step_ms`. For the spans, see
    /// [`SelectedSeries::downsample`].
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
        let combined = spans.into_iter().filter_map(|(start_ms, values)| {
            Some(Sample::new(start_ms, combine(across, &values)?))
        });
        combined.collect()
    }
}

/// Aggregates values with equal timestamps.
fn combine(aggregate: Aggregate, values: &[f64]) -> Option<f64> {
    // The accumulators need timestamps. With equal ones `Rate` has no result.
    let times = vec![0; values.len()];
    with_accumulator!(aggregate, |state, finish| aggregate_values(
        state, finish, &times, values
    ))
}

fn aggregate_values<A: Accumulate>(
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
