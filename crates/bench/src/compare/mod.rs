//! Two sets of measurements side by side, row by row.
//!
//! A row gets a verdict only if the 95 % interval of log(after / before) excludes zero. Two saved
//! runs also differ because the state of the machine changes between them. Two revisions that are
//! measured in turns find the machine in the same state.

mod interval;
mod revisions;
mod travel;

use crate::environment::Environment;
use crate::error::Error;
use crate::report::Table;
use crate::report::number::significant;
use crate::result::{Figures, RowResult};
use crate::run::TargetRun;
use interval::LogRatio;

pub use revisions::{PROGRAMS, Revisions, measure_revisions};
pub use travel::Travel;

/// The difference between two sets of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The rows that both have.
    pub rows: Vec<Change>,
    /// The mean change over all rows; `None` without rows.
    pub whole: Option<Change>,
    /// The rows that one side lacks.
    pub missing: Vec<String>,
    /// True if the two sides were measured in turns.
    pub in_turns: bool,
}

/// The difference of a row: its time after divided by its time before.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The row.
    pub id: String,
    /// After divided by before.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The verdict on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The interval contains 1, so the data shows no difference.
    NotKnown,
}

impl Change {
    fn new(id: &str, ratio: LogRatio) -> Self {
        let half = ratio.half_width();
        Self {
            id: id.to_owned(),
            ratio: ratio.mean.exp(),
            low: (ratio.mean - half).exp(),
            high: (ratio.mean + half).exp(),
        }
    }

    /// The verdict on the change.
    pub fn verdict(&self) -> Verdict {
        if self.high < 1.0 {
            Verdict::Faster
        } else if self.low > 1.0 {
            Verdict::Slower
        } else {
            Verdict::NotKnown
        }
    }
}

impl Comparison {
    /// Compares two saved runs, row by row, by their samples.
    ///
    /// # Errors
    /// [`Error::NotComparable`] if the machines or the profiles differ.
    pub fn of_runs(before: &[TargetRun], after: &[TargetRun]) -> Result<Self, Error> {
        same_conditions(before, after)?;
        let pairs = pairs(before, after);
        let ratios = pairs.both.iter().map(|(name, before, after)| {
            let ratio = LogRatio::of_samples(&times(before), &times(after));
            (name.clone(), ratio)
        });
        let in_turns = false;
        Ok(Self::from_ratios(
            &ratios.collect::<Vec<_>>(),
            pairs.missing,
            in_turns,
        ))
    }

    /// Compares two sides that were measured in turns, with one run of each side per round.
    ///
    /// # Errors
    /// [`Error::NotComparable`] if the machines or the profiles differ.
    pub fn of_rounds(rounds: &[(Vec<TargetRun>, Vec<TargetRun>)]) -> Result<Self, Error> {
        let (mut ratios, mut missing): (Vec<(String, Vec<f64>)>, Vec<String>) = Default::default();
        for (before, after) in rounds {
            same_conditions(before, after)?;
            let pairs = pairs(before, after);
            missing.extend(pairs.missing);
            for (name, before, after) in pairs.both {
                // Logarithms make "twice as fast" and "twice as slow" symmetric.
                let ratio = (after.mean_ns.value / before.mean_ns.value).ln();
                match ratios.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, ratios)) => ratios.push(ratio),
                    None => ratios.push((name, vec![ratio])),
                }
            }
        }
        // A row that is missing in one round is missing in all, so the list has it once per round.
        missing.sort();
        missing.dedup();
        let ratios = ratios
            .into_iter()
            .map(|(name, ratios)| (name, LogRatio::of_pairs(&ratios)));
        let in_turns = true;
        Ok(Self::from_ratios(
            &ratios.collect::<Vec<_>>(),
            missing,
            in_turns,
        ))
    }

    fn from_ratios(ratios: &[(String, LogRatio)], missing: Vec<String>, in_turns: bool) -> Self {
        let rows = ratios.iter().map(|(id, ratio)| Change::new(id, *ratio));
        let all: Vec<LogRatio> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        Self {
            rows: rows.collect(),
            whole: LogRatio::of_all(&all).map(|ratio| Change::new("all rows", ratio)),
            missing,
            in_turns,
        }
    }

    /// One line per row.
    pub fn table(&self) -> Table {
        let lines = self.rows.iter().map(|row| {
            let [ratio, low, high] = [row.ratio, row.low, row.high].map(significant);
            let verdict = match row.verdict() {
                Verdict::Faster => "faster",
                Verdict::Slower => "slower",
                Verdict::NotKnown => "not known",
            };
            let change = format!("{ratio} ({low}–{high})");
            vec![row.id.clone(), change, verdict.to_owned()]
        });
        let headings = ["Row", "Time after / before (95 %)", "Verdict"];
        Table::of_text(&headings, lines.collect())
    }

    /// One line about all rows.
    pub fn summary(&self) -> String {
        let Some(whole) = &self.whole else {
            return "no row was measured on both sides".to_owned();
        };
        let count = |verdict| {
            let same = self.rows.iter().filter(|row| row.verdict() == verdict);
            same.count()
        };
        let [ratio, low, high] = [whole.ratio, whole.low, whole.high].map(significant);
        let wrong = match self.in_turns {
            true => "About one row in 20 has a verdict by chance",
            false => {
                "Saved runs also differ by the state of the machine, which affects every verdict; \
                 --bench measures two revisions in turns"
            }
        };
        format!(
            "{} rows: {} faster, {} slower, {} not known; together {ratio} ({low}–{high}) of the \
             time before. {wrong}",
            self.rows.len(),
            count(Verdict::Faster),
            count(Verdict::Slower),
            count(Verdict::NotKnown),
        )
    }
}

/// The rows of two runs by name: the pairs, and the names of rows that one run lacks.
struct Pairs<'a> {
    both: Vec<(String, &'a Figures, &'a Figures)>,
    missing: Vec<String>,
}

fn pairs<'a>(before: &'a [TargetRun], after: &'a [TargetRun]) -> Pairs<'a> {
    let (before, after) = (measured(before), measured(after));
    let find = |rows: &[(String, &'a Figures)], name: &str| {
        let row = rows.iter().find(|(other, _)| other == name);
        row.map(|(_, figures)| *figures)
    };
    let mut pairs = Pairs {
        both: Vec::new(),
        missing: Vec::new(),
    };
    for (name, figures) in &before {
        match find(&after, name) {
            Some(after) => pairs.both.push((name.clone(), figures, after)),
            None => pairs.missing.push(name.clone()),
        }
    }
    let new = after
        .iter()
        .filter(|(name, _)| find(&before, name).is_none());
    pairs.missing.extend(new.map(|(name, _)| name.clone()));
    pairs
}

fn measured(targets: &[TargetRun]) -> Vec<(String, &Figures)> {
    let rows = targets.iter().flat_map(|target| {
        let rows = target.rows.iter();
        rows.filter_map(|row| Some((name(&target.target, row), row.figures()?)))
    });
    rows.collect()
}

fn name(target: &str, row: &RowResult) -> String {
    format!("{target}: {} on {} workers", row.id, row.workers)
}

fn times(figures: &Figures) -> Vec<f64> {
    let samples = figures.samples.iter();
    samples.map(|sample| sample.ns_per_op).collect()
}

/// Times of different machines, or samples of different lengths, say nothing about the code.
fn same_conditions(before: &[TargetRun], after: &[TargetRun]) -> Result<(), Error> {
    let runs = || before.iter().chain(after);
    let Some(first) = runs().next() else {
        return Ok(());
    };
    for run in runs() {
        let reason = if machine(&run.environment) != machine(&first.environment) {
            "they come from different machines"
        } else if run.invocation.profile != first.invocation.profile {
            "they have different profiles"
        } else {
            continue;
        };
        return Err(Error::NotComparable {
            reason: reason.to_owned(),
        });
    }
    Ok(())
}

fn machine(environment: &Environment) -> impl PartialEq + use<> {
    (
        environment.cpu.clone(),
        environment.cores,
        environment.memory_bytes,
        environment.os.clone(),
    )
}
