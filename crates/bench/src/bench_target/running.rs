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
        let rows = entries.iter().map(|entry| entry.rows().len()).sum();
        let mut progress = Progress::new(name, rows);
        for entry in entries {
            let rows: Vec<_> = entry.rows().into_iter().cloned().collect();
            let results = self.measure_entry(name, criterion, entry, progress.set_up_time())?;
            for (row, result) in rows.into_iter().zip(results) {
                let id = row.id();
                progress.passed(&id, result.as_ref());
                let shortfall = || self.shortfall(&id, row.pace, result.as_ref());
                // The first reason is enough, and later ones often follow from it.
                measured.missing = measured.missing.take().or_else(shortfall);
                measured.rows.extend(result.map(|result| RowResult {
                    id,
                    declared: row.declared,
                    workers: self.workers,
                    measured: result,
                }));
            }
        }
        progress.ended();
        measured.facts = self.facts.list();
        Ok(())
    }

    /// A result for each row; `None` if Criterion's filter leaves it out.
    fn measure_entry(
        &self,
        name: &str,
        criterion: &mut Criterion,
        entry: Entry,
        set_up_time: &Cell<Duration>,
    ) -> Result<Vec<Option<Measured>>, Error> {
        let bench = Bench {
            target: name,
            profile: &self.profile,
            runtime: &self.runtime,
            interrupt: &self.interrupt,
            set_up_time,
        };
        match entry {
            Entry::Unmeasured(_, reason) => Ok(vec![Some(Measured::Not { reason })]),
            Entry::Measure(row, op) => Ok(vec![bench.row(criterion, &row, &op)?]),
            Entry::Loads(loads) => {
                let figures = bench.loads(criterion, &loads)?.into_iter();
                let measured = |figures| Measured::Load(Box::new(figures));
                Ok(figures.map(|figures| figures.map(measured)).collect())
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
