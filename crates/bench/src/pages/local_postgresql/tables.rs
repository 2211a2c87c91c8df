use super::figures;
use crate::report::{Bar, Chart, Column, TableSpec, View};
use crate::result::{Figures, RowResult};
use crate::row::Reading;

/// A published table with what is known of its figures.
pub(super) struct Detail {
    pub(super) title: &'static str,
    pub(super) spec: TableSpec,
    pub(super) correction: &'static str,
    /// The start of its charts' names; none for tables whose rows another table charts.
    chart: Option<&'static str>,
}

const EMPTIED: &str = "\
their ops/sec are barrier ops, so that 137 at 100 callers are 13,727 calls/s. Every write \
benchmark there empties the table first: neither the dataset nor past events play a part.";

const EMPTIED_AND_COUNTED: &str = "\
their ops/sec column holds the number of iterations that the benchmark ran, no rate; recomputed \
here from the printed latency. Every write benchmark there empties the table first: neither the \
dataset nor past events play a part.";

const BARRIER: &str = "\
their ops/sec are barrier ops; at 100 callers a hundred times as many calls were made. The op reads \
100 events written for it, whatever the dataset.";

use Column::{
    Allocations, BarrierOps, Concurrency, ConflictEvents, ConflictRate, Dataset, Events, Interval,
    LatencyMs, LatencyNs, LimitExceededRate, MemoryBytes, MemoryKilobytes, Operation, P50, P99,
    Published, SuccessRate, Throughput, TimesFloor,
};

/// The tables in ns and bytes.
pub(super) const NS: [Detail; 4] = [
    Detail {
        title: "Append Performance",
        spec: TableSpec {
            id: super::APPEND,
            columns: WRITE_NS,
            published: &figures::APPEND,
        },
        correction: EMPTIED,
        chart: None,
    },
    Detail {
        title: "AppendIf Performance (No Conflict)",
        spec: TableSpec {
            id: super::APPEND_IF,
            columns: WRITE_NS,
            published: &figures::APPEND_IF,
        },
        correction: EMPTIED,
        chart: None,
    },
    Detail {
        title: "Project Performance",
        spec: TableSpec {
            id: super::PROJECT,
            columns: READ_NS,
            published: &figures::PROJECT,
        },
        correction: BARRIER,
        chart: None,
    },
    Detail {
        title: "Query Performance",
        spec: TableSpec {
            id: super::QUERY,
            columns: READ_NS,
            published: &figures::QUERY,
        },
        correction: BARRIER,
        chart: None,
    },
];

/// The tables in ms and KB.
pub(super) const MS: [Detail; 6] = [
    Detail {
        title: "Append Performance (ms)",
        spec: TableSpec {
            id: super::APPEND_MS,
            columns: WRITE_MS,
            published: &figures::APPEND_MS,
        },
        correction: EMPTIED_AND_COUNTED,
        chart: Some("append"),
    },
    Detail {
        title: "AppendIf Performance (No Conflict, ms)",
        spec: TableSpec {
            id: super::APPEND_IF_MS,
            columns: APPEND_IF_MS,
            published: &figures::APPEND_IF_MS,
        },
        correction: EMPTIED_AND_COUNTED,
        chart: Some("append-if"),
    },
    Detail {
        title: "AppendIf Performance (With Conflict)",
        spec: TableSpec {
            id: super::APPEND_IF_CONFLICT_MS,
            columns: CONFLICT_MS,
            published: &figures::APPEND_IF_CONFLICT_MS,
        },
        correction: "\
their rows never conflict: the table is emptied between the conflicting event and the calls, so \
that all of them append. The rows with true conflicts stand beside them, without a published \
figure. Their ops/sec column holds the number of iterations, no rate; recomputed here from the \
printed latency.",
        chart: Some("append-if-conflict"),
    },
    Detail {
        title: "Projection Performance",
        spec: TableSpec {
            id: super::PROJECTION_MS,
            columns: READ_MS,
            published: &figures::PROJECTION_MS,
        },
        correction: "\
their ops/sec column holds the number of iterations, no rate; recomputed here from the printed \
latency. The op folds exactly 100 events written for it, whatever the dataset.",
        chart: Some("projection"),
    },
    Detail {
        title: "Read Performance",
        spec: TableSpec {
            id: super::READ_MS,
            columns: READ_MS,
            published: &figures::READ_MS,
        },
        correction: "\
their memory and allocations are copied from Project's and ProjectStream's rows (the ns table has \
32,850 B and 497 allocations for Query). QueryStream takes the first event only and leaves the \
stream; on the dataset it reads the stream to its end. Query returns 34 of 100 events. Their \
ops/sec column holds the number of iterations, no rate; recomputed here from the printed latency.",
        chart: Some("read"),
    },
    Detail {
        title: "ProjectionLimits Performance",
        spec: TableSpec {
            id: super::PROJECTION_LIMITS_MS,
            columns: LIMITS_MS,
            published: &figures::PROJECTION_LIMITS_MS,
        },
        correction: "\
their ops/sec column holds the number of iterations, no rate; recomputed here from the printed \
latency. A call that is refused at the limit of five counts as a call, here and there.",
        chart: Some("projection-limits"),
    },
];

const WRITE_NS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyNs,
    MemoryBytes,
    Allocations,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
const READ_NS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Throughput,
    LatencyNs,
    MemoryBytes,
    Allocations,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
const WRITE_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
const APPEND_IF_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Batch Size"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
const CONFLICT_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Attempted Events"),
    ConflictEvents,
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
    ConflictRate,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];
const READ_MS: &[Column] = WRITE_MS;
const LIMITS_MS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    Events("Events"),
    Throughput,
    LatencyMs,
    MemoryKilobytes,
    Allocations,
    SuccessRate,
    LimitExceededRate,
    BarrierOps,
    Interval,
    P50,
    P99,
    TimesFloor,
    Published,
];

impl Detail {
    /// Calls per second of both readings, and the latencies of calls on the dataset.
    pub(super) fn charts(&self, view: &View<'_>) -> Vec<Chart> {
        let Some(name) = self.chart else {
            return Vec::new();
        };
        let seed: Vec<_> = view.table(self.spec.id, Reading::AsInTheSeed).collect();
        let dataset: Vec<_> = view.table(self.spec.id, Reading::OnTheDataset).collect();
        let calls = |figures: &Figures| vec![figures.calls_per_second];
        let latencies =
            |figures: &Figures| vec![figures.p50_ns as f64 / 1e3, figures.p99_ns as f64 / 1e3];
        let chart = |kind: &str, what: &str, series: &[&str], bars| Chart {
            name: format!("{name}-{kind}"),
            title: format!(
                "{}: {what}",
                self.title
                    .replace(" Performance", "")
                    .replace(", ms", "")
                    .replace(" (ms)", "")
            ),
            series: series.iter().map(|name| (*name).to_owned()).collect(),
            bars,
        };
        let charts = [
            chart(
                "calls-seed",
                "calls/s, as in the seed",
                &["calls/s"],
                bars(&seed, calls),
            ),
            chart(
                "calls-dataset",
                "calls/s, on the dataset",
                &["calls/s"],
                bars(&dataset, calls),
            ),
            chart(
                "latency-dataset",
                "µs a call, on the dataset",
                &["p50", "p99"],
                bars(&dataset, latencies),
            ),
        ];
        charts
            .into_iter()
            .filter(|chart| !chart.bars.is_empty())
            .collect()
    }
}

fn bars(rows: &[&RowResult], values: impl Fn(&Figures) -> Vec<f64>) -> Vec<Bar> {
    let measured = rows.iter().filter_map(|row| Some((row, row.figures()?)));
    measured
        .map(|(row, figures)| Bar {
            label: label(row),
            values: values(figures),
        })
        .collect()
}

fn label(row: &RowResult) -> String {
    let declared = &row.declared;
    let variant = declared
        .variant
        .as_ref()
        .map_or(String::new(), |name| format!(" ({name})"));
    let operation = &declared.operation;
    format!(
        "{operation}{variant} {} C{} E{}",
        declared.dataset, declared.concurrency, declared.events
    )
}
