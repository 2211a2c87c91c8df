//! Instant selectors with `smoothed`: values between two samples.

use super::matrix::Samples;
use super::selector::sorted;
use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::absence::ABSENT;
use crate::functions::interpolated;
use crate::plan::Selector;
use crate::steps::Steps;
use crate::time::whole_milliseconds;

impl Evaluation<'_> {
    /// The series of a selector, with the value on the line between the samples before and after each step. If
    /// there is none after it, the value before it counts.
    pub(super) fn smoothed(
        &self,
        selector: &Selector,
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let lookback = whole_milliseconds(self.options.lookback);
        let placed = self.placed(steps, selector.placement);
        let from = placed.first().saturating_sub(lookback).saturating_add(1);
        let to = placed.last().saturating_add(lookback);
        let selection = self.storage.select(&selector.matchers, from, to)?;
        let mut out = Vec::new();
        self.present_samples(&*selection, &sorted(&*selection), &mut |samples| {
            self.budget.hold(steps.count())?;
            let mut series = Stepped::absent(samples.labels.clone(), steps.count());
            let mut next = 0;
            for (slot, time) in series.values.iter_mut().zip(placed.times()) {
                let before_step = |timestamp: &&i64| **timestamp < time;
                next += samples.timestamps[next..]
                    .iter()
                    .take_while(before_step)
                    .count();
                *slot = value_at(&samples, next, time, lookback).unwrap_or(ABSENT);
            }
            if !series.is_empty() {
                out.push(series);
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// The value at a time. `next` is the index of the first sample at or after it.
fn value_at(samples: &Samples<'_>, next: usize, time: i64, lookback: i64) -> Option<f64> {
    let at = |index: usize| Some((*samples.timestamps.get(index)?, *samples.values.get(index)?));
    let after = at(next).filter(|(timestamp, _)| *timestamp <= time.saturating_add(lookback));
    if let Some((timestamp, value)) = after
        && timestamp == time
    {
        return Some(value);
    }
    let before = at(next.checked_sub(1)?)?;
    let is_fresh = before.0 > time.saturating_sub(lookback);
    is_fresh.then(|| after.map_or(before.1, |after| interpolated(before, after, time)))
}
