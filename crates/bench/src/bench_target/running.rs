use super::{Entry, Settings, Target};
use crate::environment::Invocation;
use crate::error::Error;
use crate::measure::Bench;
use crate::progress::Progress;
use crate::report;
use crate::result::{Measured, RowResult};
use crate::row::Pace;
use crate::run::{TargetRun, VERSION};
use criterion::Criterion;
use std::cell::Cell;
use std::time::Duration;

/// The measured rows of a target.
#[derive(Default)]
pub(super) struct MeasuredRows {
    rows: Vec<RowResult>,
    /// The first reason why a row is missing or has too few samples.
    missing: Option<String>,
    facts: Vec<(String, String)>,
}

impl MeasuredRows {
    /// False if the filter left out every row.
    pub(super) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }
}

/// Saves the rows, and renders the pages that are now complete.
pub(super) fn save_and_publish(
    name: &str,
    settings: &Settings,
    measured: MeasuredRows,
) -> Result<TargetRun, Error> {
    let saved = TargetRun {
        version: VERSION,
        target: name.to_owned(),
        run: settings.run,
        partial: settings.partial.clone().or(measured.missing),
        environment: settings.environment.clone(),
        invocation: Invocation {
            command: settings.command.clone(),
            started: settings.run.started,
            profile: settings.profile.clone(),
        },
        facts: measured.facts,
        rows: measured.rows,
    };
    let folder = settings.runs.join(settings.run.folder());
    // Saved even if it is partial: `compare` and `report` can still read it.
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
        let mut progress = Progress::new(name, entries.len());
        for entry in entries {
            let id = entry.row().id();
            let declared = entry.row().declared.clone();
            let pace = entry.row().pace;
            let row = self.measure_row(name, criterion, entry, progress.set_up_time())?;
            progress.passed(&id, row.as_ref());
            let shortfall = || self.shortfall(&id, pace, row.as_ref());
            // The first reason is enough, and later ones often follow from it.
            measured.missing = measured.missing.take().or_else(shortfall);
            measured.rows.extend(row.map(|row| RowResult {
                id,
                declared,
                workers: self.workers,
                measured: row,
            }));
        }
        progress.ended();
        measured.facts = self.facts.list();
        Ok(())
    }

    /// `None` if Criterion's filter leaves the row out.
    fn measure_row(
        &self,
        name: &str,
        criterion: &mut Criterion,
        entry: Entry,
        set_up_time: &Cell<Duration>,
    ) -> Result<Option<Measured>, Error> {
        let bench = Bench {
            target: name,
            profile: &self.profile,
            runtime: &self.runtime,
            interrupt: &self.interrupt,
            set_up_time,
        };
        match entry {
            Entry::Unmeasured(_, reason) => Ok(Some(Measured::Not { reason })),
            Entry::Measure(row, op) => bench.row(criterion, &row, &op),
            Entry::Load(row, load) => {
                let figures = bench.load(criterion, &row, &load)?;
                Ok(figures.map(|figures| Measured::Load(Box::new(figures))))
            }
        }
    }

    fn shortfall(&self, id: &str, pace: Pace, measured: Option<&Measured>) -> Option<String> {
        match measured {
            None => Some(format!("{id} was left out")),
            Some(Measured::Figures(figures))
                if figures.samples.len() < self.profile.samples_of(pace) =>
            {
                Some(format!("{id} was run without being sampled"))
            }
            Some(_) => None,
        }
    }
}
