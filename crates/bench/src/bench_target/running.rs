use super::{Entry, Settings, Target};
use crate::environment::Invocation;
use crate::error::Error;
use crate::measure::Bench;
use crate::progress::Progress;
use crate::report;
use crate::result::{Measured, RowResult};
use crate::run::{TargetRun, VERSION};
use criterion::Criterion;

/// What was measured of a target.
#[derive(Default)]
pub(super) struct MeasuredRows {
    rows: Vec<RowResult>,
    /// Why they are not all there as the profile asks.
    missing: Option<String>,
    facts: Vec<(String, String)>,
}

/// Saves the rows, and renders the pages that are complete by them.
pub(super) fn save_and_publish(
    name: &str,
    settings: Settings,
    measured: MeasuredRows,
) -> Result<TargetRun, Error> {
    let saved = TargetRun {
        version: VERSION,
        target: name.to_owned(),
        run: settings.run,
        partial: settings.partial.or(measured.missing),
        environment: settings.environment,
        invocation: Invocation {
            command: settings.command,
            started: settings.run.started,
            profile: settings.profile,
        },
        facts: measured.facts,
        rows: measured.rows,
    };
    let folder = settings.runs.join(settings.run.folder());
    saved.save(&folder)?;
    if settings.workers.len() > 1 {
        eprintln!("\n{}", report::scaling_table(&saved.rows).markdown());
    }
    report::publish_complete(&settings.pages, &saved, &folder, &settings.reports)?;
    Ok(saved)
}

impl Target {
    /// Measures the rows and adds them to `measured`.
    pub(super) fn measure_rows(
        mut self,
        name: &str,
        criterion: &mut Criterion,
        measured: &mut MeasuredRows,
    ) -> Result<(), Error> {
        let entries = std::mem::take(&mut self.entries);
        let mut progress = Progress::new(entries.len());
        for entry in entries {
            let id = entry.row().id();
            let declared = entry.row().declared.clone();
            let row = self.measure_row(name, criterion, entry)?;
            progress.passed(&id, row.as_ref());
            let shortfall = || self.shortfall(&id, row.as_ref());
            measured.missing = measured.missing.take().or_else(shortfall);
            measured.rows.extend(row.map(|row| RowResult {
                id,
                declared,
                workers: self.workers,
                measured: row,
            }));
        }
        measured.facts = self.facts.list();
        Ok(())
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
            Entry::Load(row, load) => {
                let figures = bench.load(criterion, &row, &load)?;
                Ok(figures.map(|figures| Measured::Load(Box::new(figures))))
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
