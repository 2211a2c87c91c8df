//! Range vectors, and the functions that slide over them.

use super::selector::sorted;
use super::{Evaluation, Stepped};
use crate::QueryError;
use crate::absence::{ABSENT, is_absent};
use crate::functions::{SeriesFacts, Window, WindowFunction};
use crate::plan::{Extent, Matrix, Scalar, Selector, Vector};
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
    pub(super) timestamps: &'a [i64],
    pub(super) values: &'a [f64],
}

/// Called with each series of a range vector.
// A trait object, because sub-queries nest, and each level would wrap a generic visitor in a new
// type.
pub(super) type Visitor<'v> = &'v mut dyn FnMut(Samples<'_>) -> Result<(), QueryError>;

impl Evaluation<'_> {
    /// The range of a selector with its modifier.
    pub(super) fn range_of(&self, selector: &Selector, width: i64) -> Range {
        let lookback = whole_milliseconds(self.options.lookback);
        let (before, after) = match selector.extent {
            Extent::Inside => (0, 0),
            Extent::Anchored => (lookback, 0),
            Extent::Smoothed => (lookback, lookback),
        };
        Range {
            width,
            before,
            after,
        }
    }

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
        let (placement, range) = match operand {
            Matrix::Selector { selector, range_ms } => {
                (selector.placement, self.range_of(selector, *range_ms))
            }
            Matrix::Subquery {
                placement,
                range_ms,
                ..
            } => (*placement, Range::inside(*range_ms)),
        };
        let ends = self.placed(steps, placement);
        self.each_series(operand, ends, &mut |samples| {
            visit(&mut Windows::new(samples, steps, ends, range))
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
                let (from, to) = self.range_of(selector, *range_ms).reach(ends);
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

/// A range of time, and how far outside of it a sample may be that belongs to it, in ms.
#[derive(Clone, Copy)]
pub(super) struct Range {
    width: i64,
    before: i64,
    after: i64,
}

impl Range {
    fn inside(width: i64) -> Self {
        Self {
            width,
            before: 0,
            after: 0,
        }
    }

    /// The first and the last time in the ranges that end at these steps.
    pub(super) fn reach(self, ends: Steps) -> (i64, i64) {
        let start = ends.first().saturating_sub(self.width);
        // A range excludes its start.
        let from = start.saturating_sub(self.before).saturating_add(1);
        (from, ends.last().saturating_add(self.after))
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

/// The windows of a series, step by step.
pub(super) struct Windows<'a> {
    pub(super) samples: Samples<'a>,
    facts: SeriesFacts<'a>,
    steps: Steps,
    ends: Steps,
    range: Range,
    from: usize,
    to: usize,
}

impl<'a> Windows<'a> {
    /// The windows of this width that end at `ends`, one for each of the steps.
    pub(super) fn new(samples: Samples<'a>, steps: Steps, ends: Steps, range: Range) -> Self {
        Self {
            samples,
            facts: SeriesFacts::new(samples.values, ends.overlap(range.width)),
            steps,
            ends,
            range,
            from: 0,
            to: 0,
        }
    }

    /// The window of a step, `None` if it is empty. Call this in ascending order of steps.
    // Otherwise a window is copied for each step, which takes longer than finding it.
    #[inline(always)]
    pub(super) fn next(&mut self, step: usize) -> Option<Window<'_>> {
        let end = self.ends.time(step);
        let start = end.saturating_sub(self.range.width);
        let Samples {
            timestamps, values, ..
        } = self.samples;
        // Both bounds only move forward, because steps ascend.
        self.to += count_while(&timestamps[self.to..], |timestamp| timestamp <= end);
        self.from += count_while(&timestamps[self.from..], |timestamp| timestamp <= start);
        let mut range = self.from..self.to;
        if self.range.before > 0 {
            range = self.extended(start, end);
        }
        (!range.is_empty()).then(|| Window {
            timestamps: &timestamps[range.clone()],
            values: &values[range.clone()],
            start,
            end,
            step_time: self.steps.time(step),
            first: range.start,
            series: &self.facts,
        })
    }

    /// The samples inside, with the last one before them, and the first one after them unless there is one at the
    /// end. None if all are outside on the same side.
    #[cold]
    fn extended(&self, start: i64, end: i64) -> std::ops::Range<usize> {
        let timestamps = self.samples.timestamps;
        let (mut from, mut to) = (self.from, self.to);
        let is_near = |index: &usize| timestamps[*index] > start.saturating_sub(self.range.before);
        if let Some(before) = from.checked_sub(1).filter(is_near) {
            from = before;
        }
        let after = timestamps.get(to).filter(|_| self.range.after > 0);
        let is_at_end = to > 0 && timestamps[to - 1] == end;
        if !is_at_end && after.is_some_and(|time| *time <= end.saturating_add(self.range.after)) {
            to += 1;
        }
        // Alone, a sample outside tells nothing of the range.
        match self.from == self.to && to - from < 2 {
            true => 0..0,
            false => from..to,
        }
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
