//! Aggregates and downsampling.

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

/// A function that turns the samples of a series in a span of time into one number. It ignores
/// stale markers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Aggregate {
    /// The sum.
    Sum,
    /// The arithmetic mean.
    Avg,
    /// The least value, ignoring NaN; NaN if all are NaN.
    Min,
    /// The greatest value, ignoring NaN; NaN if all are NaN.
    Max,
    /// The number of values.
    Count,
    /// The oldest value.
    First,
    /// The newest value.
    Last,
    /// The population standard deviation.
    StdDev,
    /// The growth of a counter. A fall means that the counter was reset to zero.
    Increase,
    /// The increase per second between the first and the last sample. Needs two samples.
    Rate,
    /// The last value minus the first. Needs two samples.
    Delta,
    /// The quantile for a share from 0 to 1, interpolated linearly between the two nearest values.
    /// Minus infinity for a share below 0, infinity for one above 1. NaN sorts before all numbers.
    /// Keeps all values of a span in memory.
    Quantile(f64),
}

/// Calls `$run` with the accumulator of `$aggregate` and the function that returns its result. This
/// is a macro, because each accumulator has another type.
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
    /// Aggregates all samples in the range; `None` if there are none, or too few for the aggregate.
    ///
    /// Blocks that the range covers are not decoded: their statistics are enough. The exceptions
    /// are [`Aggregate::StdDev`] and [`Aggregate::Quantile`], and blocks with stale markers for
    /// [`Aggregate::Increase`] and [`Aggregate::Rate`].
    ///
    /// ```
    /// use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut load = db.series(&Labels::new("cpu_load", [("host", "web-1")])?)?;
    /// load.append_batch(&[Sample::new(0, 0.25), Sample::new(15_000, 0.75)])?;
    /// for series in db.select(&[Matcher::metric("cpu_load")], 0, 60_000).iter() {
    ///     assert_eq!(series.aggregate(Aggregate::Avg), Some(0.5));
    ///     assert_eq!(series.aggregate(Aggregate::Max), Some(0.75));
    /// }
    /// # Ok::<(), tsdb::Error>(())
    /// ```
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
