use std::num::NonZeroU64;

use super::accumulate::{Accumulate, Changes, Ends, Extremes, Sums};
use super::moments::Moments;
use super::quantile::Values;
use super::{Aggregate, with_accumulator};
use crate::cursor::Piece;
use crate::{Cursor, Sample, SelectedSeries};

impl SelectedSeries<'_> {
    /// Divides time into spans of `step_ms` and aggregates each. Returns one sample per span, at
    /// the start of the span. Spans without enough samples are left out.
    ///
    /// Spans begin at multiples of `step_ms` since the Unix epoch. The first and the last span
    /// include only samples within the range.
    ///
    /// ```
    /// use std::num::NonZeroU64;
    /// use tsdb::{Aggregate, Db, DbOptions, Labels, Matcher, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut load = db.series(&Labels::new("cpu_load", [("host", "web-1")])?)?;
    /// for second in 0..120 {
    ///     load.append(Sample::new(second * 1000, (second / 60) as f64))?;
    /// }
    /// let minute = NonZeroU64::try_from(60_000_u64)?;
    /// for series in db.select(&[Matcher::metric("cpu_load")], 0, 119_999).iter() {
    ///     let averages = series.downsample(minute, Aggregate::Avg);
    ///     assert_eq!(averages, [Sample::new(0, 0.0), Sample::new(60_000, 1.0)]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn downsample(&self, step_ms: NonZeroU64, aggregate: Aggregate) -> Vec<Sample> {
        with_accumulator!(aggregate, |state, finish| {
            spans(self.cursor(), step_ms, state, finish)
        })
    }
}

/// A span of time. The end is exclusive.
#[derive(Clone, Copy)]
struct Span {
    start_ms: i64,
    end_ms: i64,
}

impl Span {
    fn containing(timestamp_ms: i64, step_ms: NonZeroU64) -> Self {
        // Use 128 bits, because a span may begin before `i64::MIN` or end after `i64::MAX`.
        let step = i128::from(step_ms.get());
        let start = i128::from(timestamp_ms).div_euclid(step) * step;
        let clamp = |time: i128| time.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Self {
            start_ms: clamp(start),
            end_ms: clamp(start + step),
        }
    }

    /// Returns the next span.
    fn next(self, step_ms: NonZeroU64) -> Self {
        Self {
            start_ms: self.end_ms,
            end_ms: self.end_ms.saturating_add_unsigned(step_ms.get()),
        }
    }

    /// Returns `true` if the span contains `timestamp_ms`, which must not be before its start. A
    /// span that ends at `i64::MAX` includes its end, because no other span can.
    fn holds(self, timestamp_ms: i64) -> bool {
        timestamp_ms < self.end_ms || self.end_ms == i64::MAX
    }
}

fn spans<A: Accumulate>(
    mut cursor: Cursor,
    step_ms: NonZeroU64,
    state: A,
    finish: impl Fn(&A) -> Option<f64>,
) -> Vec<Sample> {
    let mut out = Vec::with_capacity(max_spans(&cursor, step_ms));
    let mut current = Current {
        span: Span {
            start_ms: i64::MIN,
            end_ms: i64::MIN,
        },
        state,
    };
    // The number of samples in the last span: the guess for the next.
    let mut size = 1;
    loop {
        let span = current.span;
        // The statistics of a block can't be divided, so the whole block must lie in one span.
        let fits = |first_ms, last_ms| {
            let span = match span.holds(first_ms) {
                true => span,
                false => Span::containing(first_ms, step_ms),
            };
            span.holds(last_ms)
        };
        let whole =
            cursor.next_piece(|block| A::takes(block) && fits(block.first_ms, block.last_ms));
        match whole {
            None => break,
            Some(Piece::Block(block)) => {
                current.enter(block.first_ms, step_ms, &mut out, &finish);
                current.state.block(block);
            }
            Some(Piece::Samples(samples)) => {
                let (mut times, mut values) = (samples.timestamps_ms, samples.values);
                while let Some(first) = times.first() {
                    let begins = current.enter(*first, step_ms, &mut out, &finish);
                    let count = split(times, current.span, size);
                    // Take no guess from other spans: the end of a frame may have cut them short.
                    if begins && count < times.len() {
                        size = count;
                    }
                    let (of_span, later) = values.split_at(count);
                    current.state.samples(&times[..count], of_span);
                    (times, values) = (&times[count..], later);
                    let taken =
                        current.take_even_spans(times, values, size, step_ms, &mut out, &finish);
                    (times, values) = (&times[taken..], &values[taken..]);
                }
            }
        }
    }
    current.leave(&mut out, &finish);
    out
}

/// Returns an upper bound for the number of spans with samples.
fn max_spans(cursor: &Cursor, step_ms: NonZeroU64) -> usize {
    let (samples, times) = cursor.most_samples();
    let Some(length) = times.end().checked_sub(*times.start()) else {
        // The range is longer than i64::MAX.
        return samples;
    };
    // The spans at both ends may be partial.
    let spans = length.max(0).unsigned_abs() / step_ms + 2;
    usize::try_from(spans).map_or(samples, |spans| spans.min(samples))
}

/// Returns how many timestamps from the start are in the span. Tries `guess` first, so a series
/// with a steady step needs no search.
#[inline]
fn split(times: &[i64], span: Span, guess: usize) -> usize {
    if guess <= times.len() && span.holds(times[guess - 1]) {
        match times.get(guess) {
            None => return guess,
            Some(next) if !span.holds(*next) => return guess,
            Some(_) => {}
        }
    }
    times.partition_point(|time_ms| span.holds(*time_ms))
}

/// The span whose samples are being added.
struct Current<A> {
    span: Span,
    state: A,
}

impl<A: Accumulate> Current<A> {
    /// Moves to the span of `timestamp_ms`. Returns `true` if the span changes.
    #[inline]
    fn enter(
        &mut self,
        timestamp_ms: i64,
        step_ms: NonZeroU64,
        out: &mut Vec<Sample>,
        finish: &impl Fn(&A) -> Option<f64>,
    ) -> bool {
        if self.span.holds(timestamp_ms) {
            return false;
        }
        self.leave(out, finish);
        // Try the next span first: it is usually right, and needs no division. The initial span,
        // marked by `i64::MIN`, has no next span, because it does not begin at a multiple of the
        // step.
        let next = self.span.next(step_ms);
        self.span = match next.holds(timestamp_ms) && self.span.start_ms != i64::MIN {
            true => next,
            false => Span::containing(timestamp_ms, step_ms),
        };
        self.state = A::default();
        true
    }

    /// Consumes the following spans while each has exactly `size` samples. Returns the number of
    /// samples consumed.
    #[inline]
    fn take_even_spans(
        &mut self,
        times: &[i64],
        values: &[f64],
        size: usize,
        step_ms: NonZeroU64,
        out: &mut Vec<Sample>,
        finish: &impl Fn(&A) -> Option<f64>,
    ) -> usize {
        let mut taken = 0;
        // Look at one timestamp more than `size`, to see that the span ends before it.
        while let Some([of_span @ .., beyond]) = times.get(taken..=taken + size)
            && let ([first, ..], [.., last]) = (of_span, of_span)
        {
            let next = self.span.next(step_ms);
            if *first < next.start_ms || *last >= next.end_ms || *beyond < next.end_ms {
                break;
            }
            self.leave(out, finish);
            self.span = next;
            self.state = A::default();
            self.state.samples(of_span, &values[taken..taken + size]);
            taken += size;
        }
        taken
    }

    /// Writes the sample of the span, if it has one.
    #[inline]
    fn leave(&self, out: &mut Vec<Sample>, finish: &impl Fn(&A) -> Option<f64>) {
        if self.state.is_empty() {
            return;
        }
        if let Some(value) = finish(&self.state) {
            out.push(Sample::new(self.span.start_ms, value));
        }
    }
}
