//! Evaluation of a plan. Each expression is evaluated for all steps at once, so labels are
//! processed once per series, not once per sample.

mod absent;
mod aggregate;
mod answer;
mod arithmetic;
mod budget;
mod histogram;
mod info;
mod join;
mod labels;
mod matrix;
mod sampling;
mod scalar;
mod selector;
mod set;
mod smoothed;
mod sorted;
mod stepped;
mod threads;
mod vector;

use budget::Budget;
use stepped::Stepped;

use super::plan::{At, Placement};
use super::steps::Steps;
use super::{QueryOptions, QueryStats, TimeRange};
use crate::Storage;

/// One evaluation of a query.
pub(super) struct Evaluation<'a> {
    storage: &'a dyn Storage,
    options: &'a QueryOptions,
    /// The times of the query, for `start()`, `end()`, `step()` and `range()`.
    range: TimeRange,
    budget: Budget,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        storage: &'a dyn Storage,
        options: &'a QueryOptions,
        range: TimeRange,
    ) -> Self {
        Self {
            storage,
            options,
            range,
            budget: Budget::new(options),
        }
    }

    /// The samples that were read and produced so far.
    pub(super) fn stats(&self) -> QueryStats {
        self.budget.stats()
    }

    /// The times at which an expression with these modifiers is evaluated.
    fn placed(&self, steps: Steps, placement: Placement) -> Steps {
        // `@` applies before the offset, in whichever order the query has them.
        let pinned = match placement.at {
            None => steps,
            Some(At::Start) => steps.pinned_to(self.range.start_ms),
            Some(At::End) => steps.pinned_to(self.range.end_ms),
            Some(At::Time(time)) => steps.pinned_to(time),
        };
        pinned.earlier_by(placement.offset_ms)
    }
}
