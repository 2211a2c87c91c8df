//! Range vectors, and the functions that slide over them.

use super::{Evaluation, Stepped};
use crate::Labels;
use crate::promql::QueryError;
use crate::promql::absence::{ABSENT, is_absent};
use crate::promql::functions::{Window, WindowFunction};
use crate::promql::plan::{Matrix, Scalar, Vector};
use crate::promql::steps::Steps;
use crate::promql::time::whole_milliseconds;

/// Sees each series of a range vector: its labels, timestamps and values, stale markers removed.
pub(super) type Visitor<'v> = &'v mut dyn FnMut(&Labels, &[i64], &[f64]) -> Result<(), QueryError>;

impl Evaluation<'_> {
    /// Applies a function to the windows of each series.
    pub(super) fn window(
        &self,
        function: WindowFunction,
        of: &Matrix,
        parameters: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let parameters = self.scalars(parameters, steps)?;
        let mut out = Vec::new();
        self.slide(of, steps, |labels, windows| {
            self.budget.hold(steps.count())?;
            let mut series = Stepped::absent(labels.clone(), steps.count());
            for (step, slot) in series.values.iter_mut().enumerate() {
                let Some(window) = windows.next(step) else {
                    continue;
                };
                self.budget.visit(window.values.len())?;
                *slot = function(&window, &parameters[step]).unwrap_or(ABSENT);
            }
            out.push(series);
            Ok(())
        })?;
        Ok(out)
    }

    /// Gives `visit` each series with its windows.
    pub(super) fn slide(
        &self,
        of: &Matrix,
        steps: Steps,
        mut visit: impl FnMut(&Labels, &mut Windows<'_>) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let (placement, range_ms) = match of {
            Matrix::Selector { selector, range_ms } => (selector.placement, *range_ms),
            Matrix::Subquery {
                placement,
                range_ms,
                ..
            } => (*placement, *range_ms),
        };
        let ends = self.placed(steps, placement);
        self.each_series(of, ends, &mut |labels, timestamps, values| {
            let (from, to) = (0, 0);
            visit(
                labels,
                &mut Windows {
                    timestamps,
                    values,
                    steps,
                    ends,
                    range_ms,
                    from,
                    to,
                },
            )
        })
    }

    /// Gives `visit` the samples of each series that any range ending at one of `ends` holds.
    fn each_series(&self, of: &Matrix, ends: Steps, visit: Visitor<'_>) -> Result<(), QueryError> {
        match of {
            Matrix::Selector { selector, range_ms } => {
                let from = ends.first().saturating_sub(*range_ms).saturating_add(1);
                let (mut times, mut numbers) = (Vec::new(), Vec::new());
                self.read(selector, from, ends.last(), |labels, timestamps, values| {
                    if !values.iter().any(|value| is_absent(*value)) {
                        return visit(labels, timestamps, values);
                    }
                    keep_present(timestamps.iter().copied(), values, &mut times, &mut numbers);
                    visit(labels, &times, &numbers)
                })
            }
            Matrix::Subquery {
                of,
                range_ms,
                step_ms,
                ..
            } => self.subquery(of, ends, *range_ms, *step_ms, visit),
        }
    }

    /// The steps of a sub-query are multiples of its step, whatever the times of the query.
    fn subquery(
        &self,
        of: &Vector,
        ends: Steps,
        range_ms: i64,
        step_ms: Option<i64>,
        visit: Visitor<'_>,
    ) -> Result<(), QueryError> {
        let step = step_ms
            .unwrap_or_else(|| whole_milliseconds(self.options.subquery_step))
            .max(1);
        let after = ends.first().saturating_sub(range_ms);
        let start = after
            .div_euclid(step)
            .saturating_add(1)
            .saturating_mul(step);
        let inner = Steps::between(start, ends.last(), step, self.budget.left())
            .map_err(|_| self.budget.exhausted())?;
        if inner.count() == 0 {
            return Ok(());
        }
        let (mut times, mut numbers) = (Vec::new(), Vec::new());
        for series in self.vector(of, inner)? {
            keep_present(inner.times(), &series.values, &mut times, &mut numbers);
            visit(&series.labels, &times, &numbers)?;
        }
        Ok(())
    }
}

fn keep_present(
    timestamps: impl Iterator<Item = i64>,
    values: &[f64],
    times: &mut Vec<i64>,
    numbers: &mut Vec<f64>,
) {
    times.clear();
    numbers.clear();
    for (time, &value) in timestamps.zip(values) {
        if !is_absent(value) {
            times.push(time);
            numbers.push(value);
        }
    }
}

/// The windows of a series, from step to step.
pub(super) struct Windows<'a> {
    timestamps: &'a [i64],
    values: &'a [f64],
    steps: Steps,
    ends: Steps,
    range_ms: i64,
    from: usize,
    to: usize,
}

impl<'a> Windows<'a> {
    /// The window of a step, `None` when it is empty. Ask in ascending order of steps.
    pub(super) fn next(&mut self, step: usize) -> Option<Window<'a>> {
        let end = self.ends.time(step);
        let start = end.saturating_sub(self.range_ms);
        self.to += count_while(&self.timestamps[self.to..], |timestamp| timestamp <= end);
        self.from += count_while(&self.timestamps[self.from..], |timestamp| {
            timestamp <= start
        });
        let range = self.from..self.to;
        (!range.is_empty()).then(|| Window {
            timestamps: &self.timestamps[range.clone()],
            values: &self.values[range],
            start,
            end,
            step_time: self.steps.time(step),
        })
    }
}

/// From one step to the next there are few: a search would look at more.
fn count_while(timestamps: &[i64], holds: impl Fn(i64) -> bool) -> usize {
    timestamps
        .iter()
        .take_while(|timestamp| holds(**timestamp))
        .count()
}
