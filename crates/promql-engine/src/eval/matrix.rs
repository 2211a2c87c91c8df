//! Range vectors, and the functions that slide over them.

use super::selector::sorted;
use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::absence::{ABSENT, is_absent};
use crate::functions::{SeriesFacts, Window, WindowFunction};
use crate::plan::{Matrix, Scalar, Vector};
use crate::steps::Steps;
use crate::time::whole_milliseconds;
use crate::{Labels, Selected};

/// Samples that a thread visits before it charges them to the budget.
const VISITS_AT_ONCE: usize = 1 << 16;

/// A series of a range vector, without stale markers.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    pub(super) labels: &'a Labels,
    /// Whether the answer omits the metric's name.
    drops_name: bool,
    timestamps: &'a [i64],
    values: &'a [f64],
}

/// Called with each series of a range vector.
// A trait object, because sub-queries nest, and each level would wrap a generic visitor in a new
// type.
pub(super) type Visitor<'v> = &'v mut dyn FnMut(Samples<'_>) -> Result<(), QueryError>;

impl Evaluation<'_> {
    /// Applies a function to the windows of each series.
    pub(super) fn window(
        &self,
        function: WindowFunction,
        operand: &Matrix,
        parameters: &[Scalar],
        steps: Steps,
    ) -> Result<Vec<Stepped>, QueryError> {
        let parameters = self.scalars(parameters, steps)?;
        let apply = |windows: &mut Windows<'_>| self.applied(function, &parameters, windows);
        if let Matrix::Selector { selector, range_ms } = operand {
            return self.on_threads(selector, *range_ms, steps, apply);
        }
        let mut out = Vec::new();
        self.slide(operand, steps, |windows| {
            out.push(apply(windows)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The results of a function for the windows of a series.
    fn applied(
        &self,
        function: WindowFunction,
        parameters: &[Vec<f64>],
        windows: &mut Windows<'_>,
    ) -> Result<Stepped, QueryError> {
        let steps = windows.steps.count();
        self.budget.hold(steps)?;
        let mut series = Stepped::absent(windows.samples.labels.clone(), steps);
        series.drops_name = windows.samples.drops_name;
        let mut visited = 0;
        for (step, slot) in series.values.iter_mut().enumerate() {
            let Some(window) = windows.next(step) else {
                continue;
            };
            visited += window.values.len();
            // Threads share the budget, so they don't touch it for each window.
            if visited > VISITS_AT_ONCE {
                self.budget.visit(std::mem::take(&mut visited))?;
            }
            *slot = function(&window, &parameters[step]).unwrap_or(ABSENT);
        }
        self.budget.visit(visited)?;
        Ok(series)
    }

    /// Calls `visit` with the windows of each series.
    pub(super) fn slide(
        &self,
        operand: &Matrix,
        steps: Steps,
        mut visit: impl FnMut(&mut Windows<'_>) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let (placement, range_ms) = match operand {
            Matrix::Selector { selector, range_ms } => (selector.placement, *range_ms),
            Matrix::Subquery {
                placement,
                range_ms,
                ..
            } => (*placement, *range_ms),
        };
        let ends = self.placed(steps, placement);
        self.each_series(operand, ends, &mut |samples| {
            visit(&mut Windows::new(samples, steps, ends, range_ms))
        })
    }

    /// Calls `visit` with the samples of each series that fall into a range that ends at one of
    /// `ends`.
    fn each_series(
        &self,
        operand: &Matrix,
        ends: Steps,
        visit: Visitor<'_>,
    ) -> Result<(), QueryError> {
        match operand {
            Matrix::Selector { selector, range_ms } => {
                let (from, to) = reach(ends, *range_ms);
                let selection = self.storage.select(&selector.matchers, from, to)?;
                self.present_samples(&*selection, &sorted(&*selection), visit)
            }
            Matrix::Subquery {
                operand,
                range_ms,
                step_ms,
                ..
            } => self.subquery(operand, ends, *range_ms, *step_ms, visit),
        }
    }

    /// Calls `visit` with the samples of each series.
    pub(super) fn present_samples(
        &self,
        selection: &dyn Selected,
        indexes: &[usize],
        visit: Visitor<'_>,
    ) -> Result<(), QueryError> {
        let (mut times, mut numbers) = (Vec::new(), Vec::new());
        self.read_each(selection, indexes, |labels, timestamps, values| {
            let series = |timestamps, values| Samples {
                labels,
                drops_name: false,
                timestamps,
                values,
            };
            // Without stale markers, which is the usual case, nothing is copied.
            if !values.iter().any(|value| is_absent(*value)) {
                return visit(series(timestamps, values));
            }
            keep_present(timestamps.iter().copied(), values, &mut times, &mut numbers);
            visit(series(&times, &numbers))
        })
    }

    /// Evaluates a sub-query. Its times are multiples of its step and do not depend on the times of
    /// the query.
    fn subquery(
        &self,
        operand: &Vector,
        ends: Steps,
        range_ms: i64,
        step_ms: Option<i64>,
        visit: Visitor<'_>,
    ) -> Result<(), QueryError> {
        let step = step_ms
            .unwrap_or_else(|| whole_milliseconds(self.options.subquery_step))
            // A configured step of 0 would divide by zero.
            .max(1);
        let after = ends.first().saturating_sub(range_ms);
        // The first multiple of the step after the start, which is excluded. Euclidean division
        // also rounds down before 1970.
        let start = after
            .div_euclid(step)
            .saturating_add(1)
            .saturating_mul(step);
        // This check comes before memory is allocated for the steps.
        let inner = Steps::between(start, ends.last(), step, self.budget.left())
            .map_err(|_| self.budget.exhausted())?;
        if inner.count() == 0 {
            return Ok(());
        }
        let (mut times, mut numbers) = (Vec::new(), Vec::new());
        for series in self.vector(operand, inner)? {
            self.budget.visit(series.values.len())?;
            keep_present(inner.times(), &series.values, &mut times, &mut numbers);
            visit(Samples {
                labels: &series.labels,
                drops_name: series.drops_name,
                timestamps: &times,
                values: &numbers,
            })?;
        }
        Ok(())
    }
}

/// The first and the last time in the ranges that end at these steps.
pub(super) fn reach(ends: Steps, range_ms: i64) -> (i64, i64) {
    // A range excludes its start.
    let from = ends.first().saturating_sub(range_ms).saturating_add(1);
    (from, ends.last())
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

/// The windows of a series, step by step.
pub(super) struct Windows<'a> {
    pub(super) samples: Samples<'a>,
    facts: SeriesFacts<'a>,
    steps: Steps,
    ends: Steps,
    range_ms: i64,
    from: usize,
    to: usize,
}

impl<'a> Windows<'a> {
    /// The windows of this width that end at `ends`, one for each of the steps.
    pub(super) fn new(samples: Samples<'a>, steps: Steps, ends: Steps, range_ms: i64) -> Self {
        Self {
            samples,
            facts: SeriesFacts::new(samples.values, ends.overlap(range_ms)),
            steps,
            ends,
            range_ms,
            from: 0,
            to: 0,
        }
    }

    /// The window of a step, `None` if it is empty. Call this in ascending order of steps.
    // Otherwise a window is copied for each step, which takes longer than finding it.
    #[inline(always)]
    pub(super) fn next(&mut self, step: usize) -> Option<Window<'_>> {
        let end = self.ends.time(step);
        let start = end.saturating_sub(self.range_ms);
        let Samples {
            timestamps, values, ..
        } = self.samples;
        // Both bounds only move forward, because steps ascend.
        self.to += count_while(&timestamps[self.to..], |timestamp| timestamp <= end);
        self.from += count_while(&timestamps[self.from..], |timestamp| timestamp <= start);
        let range = self.from..self.to;
        (!range.is_empty()).then(|| Window {
            timestamps: &timestamps[range.clone()],
            values: &values[range],
            start,
            end,
            step_time: self.steps.time(step),
            first: self.from,
            series: &self.facts,
        })
    }
}

/// Counts the timestamps at the front for which `holds` is true. It looks at them one by one: few
/// timestamps lie between two steps, so a binary search would look at more of them.
fn count_while(timestamps: &[i64], holds: impl Fn(i64) -> bool) -> usize {
    timestamps
        .iter()
        .take_while(|timestamp| holds(**timestamp))
        .count()
}
