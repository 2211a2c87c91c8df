use std::num::NonZeroU64;

use super::accumulate::{Accumulate, Changes, Ends, Extremes, Sums};
use super::moments::Moments;
use super::quantile::Values;
use super::{Aggregate, with_accumulator};
use crate::cursor::Piece;
use crate::{Cursor, Sample, SelectedSeries};

impl SelectedSeries<'_> {
    /// One sample for each span of `step_ms` in which there are enough samples, at the start of the
    /// span. Spans begin at the multiples of `step_ms` since the Unix epoch; the first and the last
    /// hold what is in the range.
    pub fn downsample(&self, step_ms: NonZeroU64, aggregate: Aggregate) -> Vec<Sample> {
        with_accumulator!(aggregate, |state, finish| {
            spans(self.cursor(), step_ms, state, finish)
        })
    }
}

/// A span of time: from its start up to, not including, its end.
#[derive(Clone, Copy)]
struct Span {
    start_ms: i64,
    end_ms: i64,
}

impl Span {
    fn of(timestamp_ms: i64, step_ms: NonZeroU64) -> Self {
        let step = i128::from(step_ms.get());
        let start = i128::from(timestamp_ms).div_euclid(step) * step;
        let clamp = |at: i128| at.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Self {
            start_ms: clamp(start),
            end_ms: clamp(start + step),
        }
    }

    /// The next span of the same length, if it begins within the range of time.
    fn next(self, step_ms: NonZeroU64) -> Self {
        Self {
            start_ms: self.end_ms,
            end_ms: self.end_ms.saturating_add_unsigned(step_ms.get()),
        }
    }

    /// Whether `timestamp_ms`, not before the start, is in the span. The last span of all ends with
    /// time itself.
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
    let mut out = Vec::with_capacity(most_spans(&cursor, step_ms));
    let mut current = Current {
        span: Span {
            start_ms: i64::MIN,
            end_ms: i64::MIN,
        },
        state,
    };
    let mut size = 1;
    loop {
        let span = current.span;
        let fits = |first_ms, last_ms| {
            let span = match span.holds(first_ms) {
                true => span,
                false => Span::of(first_ms, step_ms),
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
                    if begins && count < times.len() {
                        size = count;
                    }
                    let (those, later) = values.split_at(count);
                    current.state.samples(&times[..count], those);
                    (times, values) = (&times[count..], later);
                    let taken = current.take_alike(times, values, size, step_ms, &mut out, &finish);
                    (times, values) = (&times[taken..], &values[taken..]);
                }
            }
        }
    }
    current.leave(&mut out, &finish);
    out
}

/// How many spans with samples there are at most.
fn most_spans(cursor: &Cursor, step_ms: NonZeroU64) -> usize {
    let (samples, times) = cursor.most_samples();
    let Some(length) = times.end().checked_sub(*times.start()) else {
        return samples;
    };
    let spans = length.max(0).unsigned_abs() / step_ms + 2;
    usize::try_from(spans).map_or(samples, |spans| spans.min(samples))
}

/// How many of the first timestamps are in the span. `guess` is how many the last one had: series
/// with a steady step are not searched.
#[inline]
fn split(times: &[i64], span: Span, guess: usize) -> usize {
    if guess <= times.len() && span.holds(times[guess - 1]) {
        match times.get(guess) {
            None => return guess,
            Some(next) if !span.holds(*next) => return guess,
            Some(_) => {}
        }
    }
    times.partition_point(|at| span.holds(*at))
}

/// The span that samples are collected for.
struct Current<A> {
    span: Span,
    state: A,
}

impl<A: Accumulate> Current<A> {
    /// Makes sure that the span is that of `timestamp_ms`; returns whether it begins.
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
        let next = self.span.next(step_ms);
        self.span = match next.holds(timestamp_ms) && self.span.start_ms != i64::MIN {
            true => next,
            false => Span::of(timestamp_ms, step_ms),
        };
        self.state = A::default();
        true
    }

    /// Enters the next span and those after it as long as each holds the next `size` samples, takes
    /// these, and returns how many samples that were.
    #[inline]
    fn take_alike(
        &mut self,
        times: &[i64],
        values: &[f64],
        size: usize,
        step_ms: NonZeroU64,
        out: &mut Vec<Sample>,
        finish: &impl Fn(&A) -> Option<f64>,
    ) -> usize {
        let mut taken = 0;
        while let Some([those @ .., beyond]) = times.get(taken..=taken + size)
            && let ([first, ..], [.., last]) = (those, those)
        {
            let next = self.span.next(step_ms);
            if *first < next.start_ms || *last >= next.end_ms || *beyond < next.end_ms {
                break;
            }
            self.leave(out, finish);
            self.span = next;
            self.state = A::default();
            self.state.samples(those, &values[taken..taken + size]);
            taken += size;
        }
        taken
    }

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
