//! Reading series from the storage.

use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::absence::is_absent;
use crate::plan::Selector;
use crate::steps::Steps;
use crate::time::whole_milliseconds;
use crate::{Labels, Selected};

/// The last sample at or before a step: its time and value.
type Last = (i64, f64);

impl Evaluation<'_> {
    /// The series of an instant selector. `value` turns the sample that is found for a step into
    /// the value at that step.
    pub(super) fn select(
        &self,
        selector: &Selector,
        steps: Steps,
        value: impl Fn(Last) -> f64,
    ) -> Result<Vec<Stepped>, QueryError> {
        let lookback = whole_milliseconds(self.options.lookback);
        let placed = self.placed(steps, selector.placement);
        let (from, to) = (placed.first().saturating_sub(lookback), placed.last());
        let mut out = Vec::new();
        self.read(
            selector,
            // The look-back excludes its start.
            from.saturating_add(1),
            to,
            |labels, timestamps, values| {
                self.budget.hold(steps.count())?;
                let mut series = Stepped::absent(labels.clone(), steps.count());
                let lasts = last_samples(timestamps, values, placed, lookback);
                for (slot, last) in series.values.iter_mut().zip(lasts) {
                    if let Some(last) = last {
                        *slot = value(last);
                    }
                }
                out.push(series);
                Ok(())
            },
        )?;
        // A series can have samples in the range but no value at any step.
        out.retain(|series| !series.is_empty());
        Ok(out)
    }

    /// Calls `visit` with the labels, timestamps and values of each series that has a sample in the
    /// range, both ends included. Series come in the order of their labels, so that sums and ties
    /// are reproducible.
    pub(super) fn read(
        &self,
        selector: &Selector,
        from_ms: i64,
        to_ms: i64,
        visit: impl FnMut(&Labels, &[i64], &[f64]) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let selection = self.storage.select(&selector.matchers, from_ms, to_ms)?;
        self.read_each(&*selection, &sorted(&*selection), visit)
    }

    /// Does the same for series that were selected.
    pub(super) fn read_each(
        &self,
        selection: &dyn Selected,
        indexes: &[usize],
        mut visit: impl FnMut(&Labels, &[i64], &[f64]) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let (mut timestamps, mut values) = (Vec::new(), Vec::new());
        for &index in indexes {
            timestamps.clear();
            values.clear();
            selection.read(index, &mut |block_timestamps, block_values| {
                // Charged block by block, so that a selection over budget stops early.
                self.budget.read(block_values.len())?;
                timestamps.extend_from_slice(block_timestamps);
                values.extend_from_slice(block_values);
                Ok(())
            })?;
            if !values.is_empty() {
                visit(selection.labels(index), &timestamps, &values)?;
            }
        }
        Ok(())
    }
}

/// The indexes of the series, in the order of their labels.
pub(super) fn sorted(selection: &dyn Selected) -> Vec<usize> {
    let mut labelled: Vec<_> = (0..selection.count())
        .map(|index| (selection.labels(index), index))
        .collect();
    labelled.sort_unstable();
    labelled.into_iter().map(|(_, index)| index).collect()
}

/// For each step the last sample at or before it, unless that sample is older than the look-back or
/// a stale marker.
fn last_samples<'a>(
    timestamps: &'a [i64],
    values: &'a [f64],
    steps: Steps,
    lookback_ms: i64,
) -> impl Iterator<Item = Option<Last>> + 'a {
    let mut next = 0;
    steps.times().map(move |time| {
        while timestamps
            .get(next)
            .is_some_and(|timestamp| *timestamp <= time)
        {
            next += 1;
        }
        let last = next.checked_sub(1)?;
        let fresh = timestamps[last] > time.saturating_sub(lookback_ms);
        (fresh && !is_absent(values[last])).then_some((timestamps[last], values[last]))
    })
}
