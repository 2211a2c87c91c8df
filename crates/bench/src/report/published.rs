use super::number::{hundredths, whole};
use crate::result::RowResult;

/// The published counterpart of a table.
#[derive(Debug, Clone, Copy)]
pub enum Published {
    /// Numbers that ours can be compared with one by one.
    Figures(&'static PublishedTable),
    /// Texts as printed, from a page with ranges or unusual units.
    Text(&'static PublishedText),
    /// No published table.
    Nothing,
}

/// One row of a published table.
pub(crate) struct PublishedEntry {
    pub(crate) key: PublishedKey,
    /// The text of its cell.
    pub(crate) figures: String,
}

/// The key of a published row. Measured rows with the same operation, dataset, callers and events
/// are shown next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedKey {
    /// The operation.
    pub operation: &'static str,
    /// The dataset.
    pub dataset: &'static str,
    /// Callers of one op.
    pub concurrency: usize,
    /// Events of a call.
    pub events: u64,
}

/// A published table of texts.
#[derive(Debug, Clone, Copy)]
pub struct PublishedText {
    /// The machine of the figures, printed with them.
    pub machine: &'static str,
    /// The rows in order, each with the text of its cell.
    pub rows: &'static [(PublishedKey, &'static str)],
}

impl Published {
    /// The machine of the figures.
    pub(crate) fn machine(&self) -> Option<&'static str> {
        match self {
            Self::Figures(table) => Some(table.machine),
            Self::Text(table) => Some(table.machine),
            Self::Nothing => None,
        }
    }

    /// The rows in order.
    pub(crate) fn entries(&self) -> Vec<PublishedEntry> {
        match self {
            Self::Figures(table) => table.entries().collect(),
            Self::Text(table) => table.entries().collect(),
            Self::Nothing => Vec::new(),
        }
    }
}

impl PublishedText {
    pub(crate) fn entries(&self) -> impl Iterator<Item = PublishedEntry> + use<> {
        self.rows.iter().map(|(key, text)| PublishedEntry {
            key: *key,
            figures: (*text).to_owned(),
        })
    }
}

impl PublishedKey {
    /// True if `row` has the same operation, dataset, concurrency and events.
    pub fn is_of(&self, row: &RowResult) -> bool {
        let declared = &row.declared;
        self.operation == declared.operation
            && self.dataset == declared.dataset
            && self.concurrency == declared.concurrency
            && self.events == declared.events
    }
}

/// A published table: its figures as printed, and their meaning.
#[derive(Debug, Clone, Copy)]
pub struct PublishedTable {
    /// The machine of the figures, printed with them.
    pub machine: &'static str,
    /// The units of latency and memory.
    pub units: Units,
    /// The meaning of the ops/sec column.
    pub rate: RateMeaning,
    /// The origin of the memory figures.
    pub memory: MemoryMeaning,
    /// The rows in order.
    pub rows: &'static [PublishedRow],
}

/// Units of a published table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// ns/op and B/op.
    NanosecondsAndBytes,
    /// ms/op and KB/op.
    MillisecondsAndKilobytes,
}

/// The meaning of a published ops/sec column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateMeaning {
    /// Barrier ops per second.
    BarrierOps,
    /// The number of iterations that the benchmark happened to run. The rate is recomputed from the
    /// latency.
    Iterations,
}

/// The origin of a published memory column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryMeaning {
    /// Measured for the row.
    Own,
    /// Copied from the rows of the named operation.
    CopiedFrom(&'static str),
}

/// One published row.
#[derive(Debug, Clone, Copy)]
pub struct PublishedRow {
    /// The operation.
    pub operation: &'static str,
    /// The dataset.
    pub dataset: &'static str,
    /// Callers of one op.
    pub concurrency: usize,
    /// Events of a call.
    pub events: u64,
    /// As printed; see [`RateMeaning`].
    pub ops_per_second: f64,
    /// Per op, in the table's unit.
    pub latency: f64,
    /// Per op, in the table's unit.
    pub memory: f64,
    /// Per op.
    pub allocations: f64,
    /// The printed success rate, if the table has one.
    pub success_rate: Option<f64>,
}

impl PublishedRow {
    fn key(&self) -> PublishedKey {
        PublishedKey {
            operation: self.operation,
            dataset: self.dataset,
            concurrency: self.concurrency,
            events: self.events,
        }
    }
}

impl PublishedTable {
    fn entries(&self) -> impl Iterator<Item = PublishedEntry> {
        self.rows.iter().map(|row| PublishedEntry {
            key: row.key(),
            figures: self.cell(row),
        })
    }

    /// The text of a row's cell.
    fn cell(&self, row: &PublishedRow) -> String {
        let mut cell = self.rate_text(row) + ", " + &self.latency_text(row);
        cell.push_str(", ");
        cell.push_str(&self.memory_text(row));
        if let Some(rate) = row.success_rate {
            cell.push_str(&format!(", success rate {rate:.3}"));
        }
        cell
    }

    fn rate_text(&self, row: &PublishedRow) -> String {
        let (ops, printed) = match self.rate {
            RateMeaning::BarrierOps => (row.ops_per_second, String::new()),
            RateMeaning::Iterations => (
                1e9 / self.latency_ns(row),
                format!(" recomputed (printed {})", whole(row.ops_per_second)),
            ),
        };
        if row.concurrency == 1 {
            return format!("{} ops/s{printed}", whole(ops));
        }
        let calls = row.concurrency as f64 * 1e9 / self.latency_ns(row);
        format!(
            "{} barrier ops/s{printed} = {} calls/s",
            whole(ops),
            whole(calls)
        )
    }

    fn latency_ns(&self, row: &PublishedRow) -> f64 {
        match self.units {
            Units::NanosecondsAndBytes => row.latency,
            Units::MillisecondsAndKilobytes => row.latency * 1e6,
        }
    }

    fn latency_text(&self, row: &PublishedRow) -> String {
        match self.units {
            Units::NanosecondsAndBytes => whole(row.latency) + " ns",
            Units::MillisecondsAndKilobytes => format!("{} ms", row.latency),
        }
    }

    fn memory_text(&self, row: &PublishedRow) -> String {
        let memory = match self.units {
            Units::NanosecondsAndBytes => whole(row.memory) + " B",
            Units::MillisecondsAndKilobytes => hundredths(row.memory) + " KB",
        };
        let text = format!("{memory}, {} allocs", whole(row.allocations));
        match self.memory {
            MemoryMeaning::Own => text,
            MemoryMeaning::CopiedFrom(operation) => format!("{text} (both {operation}'s)"),
        }
    }
}
