use crate::environment::{Environment, Invocation};
use crate::result::RowResult;
use crate::row::{Reading, TableId};
use crate::run::TargetRun;

/// All targets of one complete run, as a page looks at them.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    targets: &'a [TargetRun],
}

impl<'a> View<'a> {
    /// None for no targets.
    pub fn new(targets: &'a [TargetRun]) -> Option<Self> {
        (!targets.is_empty()).then_some(Self { targets })
    }

    /// Machine and build, which all targets share.
    pub fn environment(&self) -> &'a Environment {
        &self.targets[0].environment
    }

    /// Command, date and profile, which all targets share.
    pub fn invocation(&self) -> &'a Invocation {
        &self.targets[0].invocation
    }

    /// The facts of all targets, each once; where targets differ, both texts.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut merged: Vec<(String, String)> = Vec::new();
        for (name, value) in self.targets.iter().flat_map(|target| &target.facts) {
            match merged.iter_mut().find(|fact| fact.0 == *name) {
                None => merged.push((name.clone(), value.clone())),
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

    /// The loads that fill a table, those that could not be had among them.
    pub fn loads(&self, table: TableId) -> impl Iterator<Item = &'a RowResult> + use<'a> {
        self.rows().filter(move |row| row.fills(table))
    }

    /// The rows that fill a table with one reading.
    pub fn table(
        &self,
        table: TableId,
        reading: Reading,
    ) -> impl Iterator<Item = &'a RowResult> + use<'a> {
        self.rows()
            .filter(move |row| row.declared.reading == reading && row.fills(table))
    }
}
