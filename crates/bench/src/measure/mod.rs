//! Measures one row: a timing pass driven by Criterion, then an allocation pass.
//!
//! Criterion decides which rows run (filter, `--test`), for how long, and how many ops make a
//! sample. It also prints and stores its own statistics. The reported figures are computed here
//! from the same samples, because Criterion's `estimates.json` knows neither floors nor single
//! calls, lies under a path derived from the row's name, and may be left over from an earlier run.
//!
//! A floor is measured in turns with its row, in the same process and on the same kind of
//! connection. A slower floor gets the same time as its row, with fewer ops. The tests in
//! `tests/it/measuring.rs` check this. They assert counts and orders, never times.

mod contest;
mod figures;
mod load;
mod statistics;

pub(crate) use statistics::median;

use crate::error::{BoxError, Error, Unavailable};
use crate::interrupt::Interrupt;
use crate::op::{Observed, Op, Pass};
use crate::profile::Profile;
use crate::profiler;
use crate::result::Measured;
use crate::row::Row;
use contest::{Contest, Sample};
use criterion::{Criterion, SamplingMode};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The parts that the measurements of all rows of a target share.
pub(crate) struct Bench<'a> {
    pub(crate) target: &'a str,
    pub(crate) profile: &'a Profile,
    pub(crate) runtime: &'a Runtime,
    pub(crate) interrupt: &'a Interrupt,
    /// The time that the set-ups of rows have taken so far, without those of loads.
    pub(crate) set_up_time: &'a Cell<Duration>,
}

impl Bench<'_> {
    /// The row's figures; `None` if Criterion's filter leaves it out.
    pub(crate) fn row(
        &self,
        criterion: &mut Criterion,
        row: &Row,
        op: &Op,
    ) -> Result<Option<Measured>, Error> {
        let mut passes = Passes::new(self, row, op);
        match passes.timing_pass(criterion) {
            Ok(()) => {}
            Err(Error::Row { source, .. }) if source.is::<Unavailable>() => {
                let reason = source.to_string();
                return Ok(Some(Measured::Not { reason }));
            }
            Err(error) => return Err(error),
        }
        let Some(allocations) = passes.allocation_pass()? else {
            return Ok(None);
        };
        let figures = figures::figures(row, passes.samples.make_contiguous(), &allocations);
        Ok(Some(Measured::Figures(Box::new(figures))))
    }
}

/// The payload that unwinds through Criterion, which cannot be stopped in another way.
struct Stop;

/// One row between its set-up and its figures.
struct Passes<'a> {
    bench: &'a Bench<'a>,
    row: &'a Row,
    op: &'a Op,
    contest: Option<Contest>,
    /// The last samples. Criterion first takes the samples of its warm-up, which later samples push
    /// out.
    samples: VecDeque<Sample>,
    failed: Option<BoxError>,
}

impl<'a> Passes<'a> {
    fn new(bench: &'a Bench<'a>, row: &'a Row, op: &'a Op) -> Self {
        Self {
            bench,
            row,
            op,
            contest: None,
            samples: VecDeque::new(),
            failed: None,
        }
    }

    fn timing_pass(&mut self, criterion: &mut Criterion) -> Result<(), Error> {
        // Unwinding may leave the passes in a broken state, but then they are only dropped.
        let unwound = catch_unwind(AssertUnwindSafe(|| self.under_criterion(criterion)));
        if let Some(source) = self.failed.take() {
            return Err(self.error(source));
        }
        unwound.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    fn under_criterion(&mut self, criterion: &mut Criterion) {
        let profile = self.bench.profile;
        let mut group = criterion.benchmark_group(self.bench.target);
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(profile.samples_of(self.row.pace))
            .warm_up_time(profile.warm_up)
            .measurement_time(profile.measurement_of(self.row.pace));
        group.bench_function(self.row.id(), |bencher| {
            self.set_up();
            bencher.iter_custom(|iterations| self.sample(iterations));
        });
        group.finish();
    }

    /// Runs outside Criterion's clock, and only for rows that pass its filter.
    fn set_up(&mut self) {
        // Criterion calls this before every sample, but one set-up serves all samples.
        if self.contest.is_none() {
            let begun = Instant::now();
            let started = Contest::start(self.bench, self.row, self.op);
            self.contest = Some(self.or_stop(started));
            let spent = self.bench.set_up_time.get() + begun.elapsed();
            self.bench.set_up_time.set(spent);
            profiler::set_up_is_done();
        }
    }

    fn sample(&mut self, iterations: u64) -> Duration {
        let run = self.run(iterations, Pass::Timing);
        let sample = self.or_stop(run);
        // The oldest sample belongs to the warm-up.
        if self.samples.len() == self.bench.profile.samples_of(self.row.pace) {
            self.samples.pop_front();
        }
        // Criterion rejects a sample of zero length.
        let elapsed = sample.row().elapsed.max(Duration::from_nanos(1));
        self.samples.push_back(sample);
        elapsed
    }

    fn run(&mut self, ops: u64, pass: Pass) -> Result<Sample, BoxError> {
        // If the run fails, `self.contest` stays empty, so that no later sample continues with a
        // broken state.
        let contest = self.contest.take().ok_or("the set-up did not run")?;
        let (contest, sample) = contest.run(self.bench, ops, pass)?;
        self.contest = Some(contest);
        Ok(sample)
    }

    /// Counts allocations over as many ops as the profile has time for.
    fn allocation_pass(&mut self) -> Result<Option<Sample>, Error> {
        let Some(last) = self.samples.back() else {
            return Ok(None);
        };
        let profile = self.bench.profile;
        let round_ns: f64 = last.sides.iter().map(Observed::ns_per_op).sum();
        let affordable = profile.allocation_time.as_nanos() as f64 / round_ns.max(1.0);
        // At least one op, even if it takes longer than the profile allows.
        let ops = (affordable as u64).clamp(1, profile.allocation_ops);
        let sample = self.run(ops, Pass::Allocations);
        sample.map(Some).map_err(|source| self.error(source))
    }

    fn or_stop<T>(&mut self, result: Result<T, BoxError>) -> T {
        result.unwrap_or_else(|error| {
            self.failed = Some(error);
            resume_unwind(Box::new(Stop))
        })
    }

    fn error(&self, source: BoxError) -> Error {
        // Ctrl-C makes calls fail with various errors. Report the cause.
        if self.bench.interrupt.is_set() {
            return Error::Interrupted;
        }
        Error::Row {
            id: self.row.id(),
            source,
        }
    }
}
