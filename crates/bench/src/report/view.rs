use crate::environment::{Environment, Invocation};
use crate::result::RowResult;
use crate::row::Reading;
use crate::run::TargetRun;

/// The targets of one complete run, as a page sees them.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    targets: &'a [TargetRun],
}

impl<'a> View<'a> {
    /// `None` without targets.
    pub fn new(targets: &'a [TargetRun]) -> Option<Self> {
        (!targets.is_empty()).then_some(Self { targets })
    }

    /// The machine and build, the same for all targets.
    pub fn environment(&self) -> &'a Environment {
        &self.targets[0].environment
    }

    /// The command, date and profile, the same for all targets.
    pub fn invocation(&self) -> &'a Invocation {
        &self.targets[0].invocation
    }

    /// The facts of all targets. If targets differ, the text has both values.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut merged: Vec<(String, String)> = Vec::new();
        for (name, value) in self.targets.iter().flat_map(|target| &target.facts) {
            match merged.iter_mut().find(|fact| fact.0 == *name) {
                None => merged.push((name.clone(), value.clone())),
                // Most facts are the same for all targets.
                Some((_, text)) if text.contains(value.as_str()) => {}
                Some((_, text)) => *text = format!("{text}; {value}"),
            }
        }
        merged
    }

    /// All rows, target by target.
    pub fn rows(&self) -> impl Iterator<Item = &'a RowResult> + use<'a> {
        self.targets.iter().flat_map(|target| &target.rows)
    }

    /// The rows as in the seed, target by target.
    pub(super) fn seed_rows(&self) -> impl Iterator<Item = &'a RowResult> + use<'a> {
        self.rows()
            .filter(|row| row.declared.reading == Reading::AsInTheSeed)
    }

    /// The rows of a table, including those that could not be measured.
    pub fn filling(&self, table: &str) -> impl Iterator<Item = &'a RowResult> {
        self.rows().filter(move |row| row.fills(table))
    }

    /// The rows of a table with one reading.
    pub fn table(&self, table: &str, reading: Reading) -> impl Iterator<Item = &'a RowResult> {
        self.filling(table)
            .filter(move |row| row.declared.reading == reading)
    }

    /// The first row of an operation in a table; of both readings, the one as in the seed.
    pub fn first(&self, table: &str, operation: &str) -> Option<&'a RowResult> {
        let seed = self.table(table, Reading::AsInTheSeed);
        let mut rows = seed.chain(self.table(table, Reading::OnTheDataset));
        rows.find(|row| row.declared.operation == operation)
    }

    /// The mean time of an op of [that row](Self::first), in nanoseconds.
    pub fn mean_ns(&self, table: &str, operation: &str) -> Option<f64> {
        Some(self.first(table, operation)?.figures()?.mean_ns.value)
    }
}
