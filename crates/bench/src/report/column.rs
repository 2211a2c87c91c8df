use super::number::{bytes, duration, hundredths, significant, whole};
use crate::result::{Figures, RowResult};

/// A column of a table of measured rows. The first thirteen have the headings of published tables;
/// the others are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The operation and the row's variant.
    Operation,
    /// The dataset.
    Dataset,
    /// Callers of one op.
    Concurrency,
    /// Events of a call, under the given heading.
    Events(&'static str),
    /// Events appended before an op to conflict with it.
    ConflictEvents,
    /// Calls per elapsed second.
    Throughput,
    /// Time of one op in ns.
    LatencyNs,
    /// Time of one op in ms.
    LatencyMs,
    /// Bytes allocated for one op.
    MemoryBytes,
    /// Bytes allocated for one op, in units of 1,024.
    MemoryKilobytes,
    /// Allocations for one op.
    Allocations,
    /// Share of calls that succeeded.
    SuccessRate,
    /// Share of calls refused by a limit.
    LimitExceededRate,
    /// Share of calls refused by a conflict.
    ConflictRate,
    /// Events per elapsed second.
    EventsPerSecond,
    /// Ops per elapsed second, an op being one call of each caller.
    BarrierOps,
    /// Half-width of the mean's 95 % interval, as a share of the mean.
    Interval,
    /// Median time of a call.
    P50,
    /// 99th percentile of the time of a call.
    P99,
    /// Maximum memory in use during an op.
    PeakKilobytes,
    /// The ratio to the row's first floor.
    TimesFloor,
    /// The published figures.
    Published,
    /// Time of one op, with its unit.
    Latency,
    /// Bytes allocated for one op, with their unit.
    Memory,
    /// Another column under the given heading.
    Titled(&'static str, &'static Column),
}

impl Column {
    /// Its heading. `machine` is the machine of the published figures.
    pub(crate) fn heading(self, machine: Option<&str>) -> String {
        let heading = match self {
            Self::Operation => "Operation",
            Self::Dataset => "Dataset",
            Self::Concurrency => "Concurrency",
            Self::Events(heading) => heading,
            Self::ConflictEvents => "Conflict Events",
            Self::Throughput => "Throughput (ops/sec)",
            Self::LatencyNs => "Latency (ns/op)",
            Self::LatencyMs => "Latency (ms/op)",
            Self::MemoryBytes => "Memory (B/op)",
            Self::MemoryKilobytes => "Memory (KB/op)",
            Self::Allocations => "Allocations",
            Self::SuccessRate => "Success Rate",
            Self::LimitExceededRate => "Limit Exceeded Rate",
            Self::ConflictRate => "Conflict Rate",
            Self::EventsPerSecond => "Events/s",
            Self::BarrierOps => "Barrier ops/s",
            Self::Interval => "± (95 %)",
            Self::P50 => "p50 (µs/call)",
            Self::P99 => "p99 (µs/call)",
            Self::PeakKilobytes => "Peak (KB)",
            Self::TimesFloor => "× floor",
            Self::Published => {
                return machine.map_or("Published".to_owned(), |machine| {
                    format!("Published ({machine})")
                });
            }
            Self::Latency => "Latency",
            Self::Memory => "Memory",
            Self::Titled(heading, _) => heading,
        };
        heading.to_owned()
    }

    /// True if its cells are numbers, which are aligned to the right.
    pub(crate) fn is_number(self) -> bool {
        match self {
            Self::Operation | Self::Dataset | Self::TimesFloor | Self::Published => false,
            Self::Titled(_, column) => column.is_number(),
            _ => true,
        }
    }

    /// True if its cells are measured figures.
    pub(crate) fn is_figure(self) -> bool {
        match self {
            Self::Operation
            | Self::Dataset
            | Self::Concurrency
            | Self::Events(_)
            | Self::ConflictEvents
            | Self::Published => false,
            Self::Titled(_, column) => column.is_figure(),
            _ => true,
        }
    }

    /// The cell with a declared property of the row; `None` for columns of figures.
    pub(crate) fn declared(self, row: &RowResult) -> Option<String> {
        let declared = &row.declared;
        Some(match self {
            Self::Operation => match &declared.variant {
                Some(variant) => format!("{} ({variant})", declared.operation),
                None => declared.operation.clone(),
            },
            Self::Dataset => declared.dataset.clone(),
            Self::Concurrency => declared.concurrency.to_string(),
            Self::Events(_) => whole(declared.events as f64),
            Self::ConflictEvents => whole(declared.conflict_events as f64),
            Self::Titled(_, column) => return column.declared(row),
            _ => return None,
        })
    }

    /// The cell of a measured figure.
    pub(crate) fn figure(self, row: &RowResult, figures: &Figures) -> String {
        let calls = figures.calls_per_second;
        match self {
            Self::Throughput => rate(calls),
            Self::EventsPerSecond => rate(calls * row.declared.events as f64),
            Self::BarrierOps => rate(figures.ops_per_second()),
            Self::LatencyNs => significant(figures.mean_ns.value),
            Self::LatencyMs => significant(figures.mean_ns.value / 1e6),
            Self::Latency => duration(figures.mean_ns.value),
            Self::Memory => bytes(figures.bytes_per_op),
            Self::Titled(_, column) => column.figure(row, figures),
            Self::Interval => interval(figures),
            Self::MemoryBytes => whole(figures.bytes_per_op),
            Self::MemoryKilobytes => hundredths(figures.bytes_per_op / 1024.0),
            Self::PeakKilobytes => hundredths(figures.peak_bytes as f64 / 1024.0),
            Self::Allocations => whole(figures.allocations_per_op),
            Self::SuccessRate => format!("{:.3}", figures.success_rate),
            Self::LimitExceededRate | Self::ConflictRate => format!("{:.3}", figures.refused_rate),
            Self::P50 => significant(figures.p50_ns as f64 / 1e3),
            Self::P99 => significant(figures.p99_ns as f64 / 1e3),
            Self::TimesFloor => figures.floors.first().map_or_else(
                || "no floor".to_owned(),
                |floor| {
                    let ratio = floor.ratio;
                    let text = [ratio.value, ratio.low, ratio.high].map(significant);
                    format!("{} ({}–{}) {}", text[0], text[1], text[2], floor.name)
                },
            ),
            _ => String::new(),
        }
    }
}

fn rate(per_second: f64) -> String {
    if per_second < 100.0 {
        significant(per_second)
    } else {
        whole(per_second)
    }
}

fn interval(figures: &Figures) -> String {
    let mean = figures.mean_ns;
    format!("{:.1} %", 50.0 * (mean.high - mean.low) / mean.value)
}
