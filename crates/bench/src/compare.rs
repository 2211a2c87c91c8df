//! Two sets of measurements side by side, row by row.
//!
//! A row gets a verdict only where the 95 % interval of the logarithm of after divided by before
//! excludes zero. Two saved runs also differ by whatever the machine did between them; revisions
//! that took turns, round by round, do not.

mod interval;
mod revisions;

use crate::environment::Environment;
use crate::error::Error;
use crate::report::Table;
use crate::report::number::significant;
use crate::result::{Figures, RowResult};
use crate::run::TargetRun;
use interval::LogRatio;

pub use revisions::{Revisions, measure_revisions};

/// What changed between two sets of measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The rows that both have.
    pub rows: Vec<Change>,
    /// All of them together.
    pub whole: Option<Change>,
    /// The rows that one of them lacks.
    pub missing: Vec<String>,
    /// Whether the two sides were measured in turns.
    pub in_turns: bool,
}

/// What changed of a row: its time after divided by its time before.
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

/// What a change amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The interval holds no change too.
    NotKnown,
}

impl Change {
    fn of(id: &str, ratio: LogRatio) -> Self {
        let half = ratio.half_width();
        Self {
            id: id.to_owned(),
            ratio: ratio.mean.exp(),
            low: (ratio.mean - half).exp(),
            high: (ratio.mean + half).exp(),
        }
    }

    /// What it amounts to.
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
    /// Of two saved runs, each row by its samples.
    ///
    /// # Errors
    /// [`Error::NotComparable`] where the machines or the profiles differ.
    pub fn of_runs(before: &[TargetRun], after: &[TargetRun]) -> Result<Self, Error> {
        same_conditions(before, after)?;
        let pairs = pairs(before, after);
        let ratios = pairs.both.iter().map(|(name, before, after)| {
            let ratio = LogRatio::of_samples(&times(before), &times(after));
            (name.clone(), ratio)
        });
        let in_turns = false;
        Ok(Self::of(
            &ratios.collect::<Vec<_>>(),
            pairs.missing,
            in_turns,
        ))
    }

    /// Of two sides that were measured in turns, a run of each a round.
    ///
    /// # Errors
    /// [`Error::NotComparable`] where the machines or the profiles differ.
    pub fn of_rounds(rounds: &[(Vec<TargetRun>, Vec<TargetRun>)]) -> Result<Self, Error> {
        let (mut ratios, mut missing): (Vec<(String, Vec<f64>)>, Vec<String>) = Default::default();
        for (before, after) in rounds {
            same_conditions(before, after)?;
            let pairs = pairs(before, after);
            missing.extend(pairs.missing);
            for (name, before, after) in pairs.both {
                let ratio = (after.mean_ns.value / before.mean_ns.value).ln();
                match ratios.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, ratios)) => ratios.push(ratio),
                    None => ratios.push((name, vec![ratio])),
                }
            }
        }
        missing.sort();
        missing.dedup();
        let ratios = ratios
            .into_iter()
            .map(|(name, ratios)| (name, LogRatio::of_pairs(&ratios)));
        let in_turns = true;
        Ok(Self::of(&ratios.collect::<Vec<_>>(), missing, in_turns))
    }

    fn of(ratios: &[(String, LogRatio)], missing: Vec<String>, in_turns: bool) -> Self {
        let rows = ratios.iter().map(|(id, ratio)| Change::of(id, *ratio));
        let all: Vec<LogRatio> = ratios.iter().map(|(_, ratio)| *ratio).collect();
        Self {
            rows: rows.collect(),
            whole: LogRatio::of_all(&all).map(|ratio| Change::of("all rows", ratio)),
            missing,
            in_turns,
        }
    }

    /// A line a row.
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

    /// One line for the whole.
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
            true => "By chance one verdict in 20 rows is wrong",
            false => {
                "The runs also differ by what the machine did meanwhile, which is in every verdict; \
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

/// The rows of two runs by name: those of both, and the names of those that one lacks.
struct Pairs<'a> {
    both: Vec<(String, &'a Figures, &'a Figures)>,
    missing: Vec<String>,
}

fn pairs<'a>(before: &'a [TargetRun], after: &'a [TargetRun]) -> Pairs<'a> {
    let (before, after) = (measured(before), measured(after));
    let of = |rows: &[(String, &'a Figures)], name: &str| {
        let row = rows.iter().find(|(other, _)| other == name);
        row.map(|(_, figures)| *figures)
    };
    let mut pairs = Pairs {
        both: Vec::new(),
        missing: Vec::new(),
    };
    for (name, figures) in &before {
        match of(&after, name) {
            Some(after) => pairs.both.push((name.clone(), figures, after)),
            None => pairs.missing.push(name.clone()),
        }
    }
    let new = after.iter().filter(|(name, _)| of(&before, name).is_none());
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

/// Times of different machines, or of samples of different lengths, say nothing of the code.
fn same_conditions(before: &[TargetRun], after: &[TargetRun]) -> Result<(), Error> {
    let runs = || before.iter().chain(after);
    let Some(first) = runs().next() else {
        return Ok(());
    };
    for run in runs() {
        let reason = if machine(&run.environment) != machine(&first.environment) {
            "they are of different machines"
        } else if run.invocation.profile != first.invocation.profile {
            "they are of different profiles"
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
