//! Measures one row: a timing pass driven by Criterion, then an allocation pass.
//!
//! Criterion decides what runs (filter, `--test`), for how long, and how many ops make a sample;
//! it prints and keeps its own statistics. The figures that are reported are computed here from
//! the same samples: its `estimates.json` knows neither floors nor single calls, lies under a
//! path derived from the row's name, and stays behind from earlier runs.

mod contest;
mod figures;
mod load;
mod statistics;

use crate::error::{BoxError, Error};
use crate::interrupt::Interrupt;
use crate::op::{Observed, Op, Pass};
use crate::profile::Profile;
use crate::profiler;
use crate::result::Figures;
use crate::row::Row;
use contest::{Contest, Sample};
use criterion::{Criterion, SamplingMode};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use tokio::runtime::Runtime;

/// What all rows of a target are measured with.
pub(crate) struct Bench<'a> {
    pub(crate) target: &'a str,
    pub(crate) profile: &'a Profile,
    pub(crate) runtime: &'a Runtime,
    pub(crate) interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// The row's figures; none where Criterion's filter leaves it out.
    pub(crate) fn row(
        &self,
        criterion: &mut Criterion,
        row: &Row,
        op: &Op,
    ) -> Result<Option<Figures>, Error> {
        let mut passes = Passes::new(self, row, op);
        passes.timing_pass(criterion)?;
        let Some(allocations) = passes.allocation_pass()? else {
            return Ok(None);
        };
        Ok(Some(figures::figures(
            row,
            passes.samples.make_contiguous(),
            &allocations,
        )))
    }
}

/// Unwinds through Criterion, which has no other way to be stopped.
struct Stop;

/// One row between its set-up and its figures.
struct Passes<'a> {
    bench: &'a Bench<'a>,
    row: &'a Row,
    op: &'a Op,
    contest: Option<Contest>,
    /// The last samples; Criterion takes the warm-up's before them.
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
            .sample_size(profile.samples)
            .warm_up_time(profile.warm_up)
            .measurement_time(profile.measurement);
        group.bench_function(self.row.id(), |bencher| {
            self.set_up();
            bencher.iter_custom(|iterations| self.sample(iterations));
        });
        group.finish();
    }

    /// Outside Criterion's clock, and only for rows that its filter lets through.
    fn set_up(&mut self) {
        if self.contest.is_none() {
            let started = Contest::start(self.bench, self.row, self.op);
            self.contest = Some(self.or_stop(started));
            profiler::set_up_is_done();
        }
    }

    fn sample(&mut self, iterations: u64) -> Duration {
        let run = self.run(iterations, Pass::Timing);
        let sample = self.or_stop(run);
        if self.samples.len() == self.bench.profile.samples {
            self.samples.pop_front();
        }
        // Criterion refuses a sample that took no time.
        let elapsed = sample.row().elapsed.max(Duration::from_nanos(1));
        self.samples.push_back(sample);
        elapsed
    }

    fn run(&mut self, ops: u64, pass: Pass) -> Result<Sample, BoxError> {
        let contest = self.contest.take().ok_or("the set-up did not run")?;
        let (contest, sample) = contest.run(self.bench, ops, pass)?;
        self.contest = Some(contest);
        Ok(sample)
    }

    /// As many ops as the profile gives time for, with their allocations counted.
    fn allocation_pass(&mut self) -> Result<Option<Sample>, Error> {
        let Some(last) = self.samples.back() else {
            return Ok(None);
        };
        let profile = self.bench.profile;
        let round_ns: f64 = last.sides.iter().map(Observed::ns_per_op).sum();
        let affordable = profile.allocation_time.as_nanos() as f64 / round_ns.max(1.0);
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
        if self.bench.interrupt.is_set() {
            return Error::Interrupted;
        }
        Error::Row {
            id: self.row.id(),
            source,
        }
    }
}
