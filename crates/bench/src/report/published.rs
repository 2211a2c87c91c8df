//! Published figures: the files in `fixtures/published`.

use super::number::{hundredths, whole};
use crate::result::RowResult;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The published tables of a page, each under the name of the table that shows it.
pub type Published = BTreeMap<String, PublishedTable>;

/// A published table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// The machine of the figures, printed with them.
    pub machine: String,
    /// The units of numbers.
    #[serde(default)]
    pub unit: Unit,
    /// The operation from which the memory and the allocations of all rows are copied.
    pub memory_of: Option<String>,
    /// The rows in order.
    pub rows: Vec<PublishedRow>,
}

/// The units of a published table of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Latency in ns, memory in bytes, and ops/sec are barrier ops per second.
    #[default]
    Ns,
    /// Latency in ms, memory in KB, and the column of ops/sec has the number of iterations that the
    /// benchmark happened to run. The rate is computed from the latency.
    Ms,
}

/// A published row: operation, dataset, callers of one op, events of a call, and its figures.
/// Measured rows with the same four properties are shown next to it.
#[derive(Debug, Clone, Deserialize)]
pub struct PublishedRow(pub String, pub String, pub usize, pub u64, pub Printed);

/// Figures as printed.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Printed {
    /// From a page with ranges or unusual units.
    Text(String),
    /// Ops/sec, latency, memory, allocations, and the success rate if the table has one.
    Numbers(Vec<f64>),
}

impl PublishedRow {
    /// True if `row` has the same operation, dataset, callers and events.
    pub fn is_of(&self, row: &RowResult) -> bool {
        let declared = &row.declared;
        self.0 == declared.operation
            && self.1 == declared.dataset
            && self.2 == declared.concurrency
            && self.3 == declared.events
    }

    /// The printed number at `index`; 0 if there is none.
    pub fn number(&self, index: usize) -> f64 {
        match &self.4 {
            Printed::Numbers(numbers) => numbers.get(index).copied().unwrap_or_default(),
            Printed::Text(_) => 0.0,
        }
    }
}

impl PublishedTable {
    /// The text of a row's cell.
    pub(super) fn cell(&self, row: &PublishedRow) -> String {
        let numbers = match &row.4 {
            Printed::Text(text) => return text.clone(),
            Printed::Numbers(numbers) => numbers,
        };
        let [latency, memory] = [1, 2].map(|index| row.number(index));
        let (latency, memory) = match self.unit {
            Unit::Ns => (whole(latency) + " ns", whole(memory) + " B"),
            Unit::Ms => (format!("{latency} ms"), hundredths(memory) + " KB"),
        };
        let copied = self.memory_of.as_ref();
        let copied = copied.map_or(String::new(), |of| format!(" (both {of}'s)"));
        let success = numbers.get(4);
        let success = success.map_or(String::new(), |rate| format!(", success rate {rate:.3}"));
        let allocations = whole(row.number(3));
        format!(
            "{}, {latency}, {memory}, {allocations} allocs{copied}{success}",
            self.rate(row)
        )
    }

    fn rate(&self, row: &PublishedRow) -> String {
        let (ops, latency) = (row.number(0), row.number(1));
        let (ops, latency_ns, printed) = match self.unit {
            Unit::Ns => (ops, latency, String::new()),
            Unit::Ms => {
                let printed = format!(" recomputed (printed {})", whole(ops));
                (1e3 / latency, latency * 1e6, printed)
            }
        };
        let ops = whole(ops);
        if row.2 == 1 {
            return format!("{ops} ops/s{printed}");
        }
        let calls = row.2 as f64 * 1e9 / latency_ns;
        format!("{ops} barrier ops/s{printed} = {} calls/s", whole(calls))
    }
}
