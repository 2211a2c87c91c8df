use super::number::{hundredths, whole};
use crate::result::RowResult;

/// A published table: its figures as printed, and what they mean.
#[derive(Debug, Clone, Copy)]
pub struct PublishedTable {
    /// The machine that the figures are from, printed with them.
    pub machine: &'static str,
    /// In which units latency and memory are printed.
    pub units: Units,
    /// What the ops/sec column holds.
    pub rate: RateMeaning,
    /// Whose the memory figures are.
    pub memory: MemoryMeaning,
    /// The rows in their order.
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

/// What a published ops/sec column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateMeaning {
    /// Barrier ops per second.
    BarrierOps,
    /// The number of iterations that the benchmark happened to run: no rate, recomputed from the
    /// latency.
    Iterations,
}

/// Whose the figures of a published memory column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryMeaning {
    /// The row's own.
    Own,
    /// Copied from another operation's rows, which is named.
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
    /// Printed success rate, where the table has one.
    pub success_rate: Option<f64>,
}

impl PublishedRow {
    /// Whether `row` measures the same operation, dataset, concurrency and events.
    pub fn is_of(&self, row: &RowResult) -> bool {
        let declared = &row.declared;
        self.operation == declared.operation
            && self.dataset == declared.dataset
            && self.concurrency == declared.concurrency
            && self.events == declared.events
    }
}

impl PublishedTable {
    /// The published figures of a row in one cell.
    pub(crate) fn cell(&self, row: &PublishedRow) -> String {
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
