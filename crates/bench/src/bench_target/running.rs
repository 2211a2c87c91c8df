use super::{Entry, Settings, Target};
use crate::environment::Invocation;
use crate::error::Error;
use crate::measure::Bench;
use crate::progress::Progress;
use crate::report;
use crate::result::{Measured, RowResult};
use crate::run::{TargetRun, VERSION};
use criterion::Criterion;

impl Target {
    /// Measures the rows, saves them, and renders the pages that are complete by them.
    pub(super) fn run(mut self, name: &str, mut settings: Settings) -> Result<TargetRun, Error> {
        let (rows, missing) = self.measure_rows(name, &mut settings.criterion)?;
        let saved = TargetRun {
            version: VERSION,
            target: name.to_owned(),
            run: settings.run,
            partial: settings.partial.or(missing),
            environment: settings.environment,
            invocation: Invocation {
                command: settings.command,
                started: settings.run.started,
                profile: settings.profile,
            },
            facts: self.facts.list(),
            rows,
        };
        let folder = settings.runs.join(settings.run.folder());
        saved.save(&folder)?;
        report::publish_complete(&settings.pages, &saved, &folder, &settings.reports)?;
        Ok(saved)
    }

    /// The rows, and why they are not all there as the profile asks.
    fn measure_rows(
        &mut self,
        name: &str,
        criterion: &mut Criterion,
    ) -> Result<(Vec<RowResult>, Option<String>), Error> {
        let entries = std::mem::take(&mut self.entries);
        let mut progress = Progress::new(entries.len());
        let (mut rows, mut missing) = (Vec::new(), None);
        for entry in entries {
            let id = entry.row().id();
            let declared = entry.row().declared.clone();
            let measured = self.measure_row(name, criterion, entry)?;
            progress.passed(&id, measured.as_ref());
            missing = missing.or(self.shortfall(&id, measured.as_ref()));
            rows.extend(measured.map(|measured| RowResult {
                id,
                declared,
                measured,
            }));
        }
        Ok((rows, missing))
    }

    /// None where Criterion's filter leaves the row out.
    fn measure_row(
        &self,
        name: &str,
        criterion: &mut Criterion,
        entry: Entry,
    ) -> Result<Option<Measured>, Error> {
        let bench = Bench {
            target: name,
            profile: &self.profile,
            runtime: &self.runtime,
            interrupt: &self.interrupt,
        };
        match entry {
            Entry::Unmeasured(_, reason) => Ok(Some(Measured::Not { reason })),
            Entry::Measure(row, op) => {
                let figures = bench.row(criterion, &row, &op)?;
                Ok(figures.map(|figures| Measured::Figures(Box::new(figures))))
            }
        }
    }

    fn shortfall(&self, id: &str, measured: Option<&Measured>) -> Option<String> {
        match measured {
            None => Some(format!("{id} was left out")),
            Some(Measured::Figures(figures)) if figures.samples.len() < self.profile.samples => {
                Some(format!("{id} was run without being sampled"))
            }
            Some(_) => None,
        }
    }
}
