//! Samples to numbers.

mod accumulate;
mod downsample;
mod group;
mod moments;
mod quantile;

use accumulate::{Accumulate, Changes, Ends, Extremes, Sums};
use moments::Moments;
use quantile::Values;

use crate::cursor::Piece;
use crate::{Cursor, SelectedSeries};

pub use group::Group;

/// What to make of the samples of a series in a span of time. Stale markers are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Aggregate {
    /// The sum.
    Sum,
    /// The arithmetic mean.
    Avg,
    /// The least number; NaN if all are NaN.
    Min,
    /// The greatest number; NaN if all are NaN.
    Max,
    /// How many there are.
    Count,
    /// The oldest.
    First,
    /// The newest.
    Last,
    /// The standard deviation of the population.
    StdDev,
    /// How much a counter grew: where it falls, it began at zero again.
    Increase,
    /// The increase per second between the first and the last sample. Needs two samples.
    Rate,
    /// The last less the first. Needs two samples.
    Delta,
    /// The value below which the given share lies, between the two nearest by their distance;
    /// minus infinity for a share below 0, infinity for one above 1. NaN comes before all numbers.
    /// Keeps all values of a span.
    Quantile(f64),
}

/// Calls `$run` with the accumulator of `$aggregate` and what it says at the end.
macro_rules! with_accumulator {
    ($aggregate:expr, $run:expr) => {
        match $aggregate {
            Aggregate::Sum => $run(Sums::default(), |sums: &Sums| Some(sums.sum)),
            Aggregate::Avg => $run(Sums::default(), Sums::mean),
            Aggregate::Count => $run(Sums::default(), |sums: &Sums| Some(sums.count as f64)),
            Aggregate::Min => $run(Extremes::default(), Extremes::least),
            Aggregate::Max => $run(Extremes::default(), Extremes::greatest),
            Aggregate::First => $run(Ends::default(), |ends: &Ends| Some(ends.first)),
            Aggregate::Last => $run(Ends::default(), |ends: &Ends| Some(ends.last)),
            Aggregate::Delta => $run(Ends::default(), Ends::delta),
            Aggregate::Increase => $run(Changes::default(), Changes::increase),
            Aggregate::Rate => $run(Changes::default(), Changes::rate),
            Aggregate::StdDev => $run(Moments::default(), Moments::deviation),
            Aggregate::Quantile(share) => {
                $run(Values::default(), |values: &Values| values.quantile(share))
            }
        }
    };
}
use with_accumulator;

impl SelectedSeries<'_> {
    /// One number for the whole range; `None` if there are no samples, or too few for it. Blocks
    /// that lie in the range as a whole are not decoded, but for the deviation and for quantiles.
    pub fn aggregate(&self, aggregate: Aggregate) -> Option<f64> {
        with_accumulator!(aggregate, |state, finish| whole(
            self.cursor(),
            state,
            finish
        ))
    }
}

fn whole<A: Accumulate>(
    mut cursor: Cursor,
    mut state: A,
    finish: impl Fn(&A) -> Option<f64>,
) -> Option<f64> {
    while let Some(piece) = cursor.next_piece(A::takes) {
        match piece {
            Piece::Block(block) => state.block(block),
            Piece::Samples(samples) => state.samples(samples.timestamps_ms, samples.values),
        }
    }
    if state.is_empty() {
        None
    } else {
        finish(&state)
    }
}
