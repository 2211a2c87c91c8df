//! The tables of measured rows.

use super::heading;
use crate::report::Column::{
    self, Allocations, Concurrency, Dataset, Events, EventsPerSecond, Interval, Latency,
    MemoryBytes, Operation, P50, P99, Throughput, TimesFloor, Titled,
};
use crate::report::{
    Bar, Chart, LoadTable, Published, PublishedKey, PublishedText, Section, TableSpec, View,
};
use crate::row::{Reading, TableId};

/// A table with its heading, and one op of its rows in words.
pub(super) struct TitledTable {
    title: &'static str,
    spec: TableSpec,
}

impl TitledTable {
    pub(super) fn sections(&self, view: &View<'_>) -> Vec<Section> {
        let reading = Reading::AsInTheSeed;
        let ops = self.spec.ops(view, reading);
        vec![
            heading(3, self.title),
            Section::Table(self.spec.table(view, reading)),
            Section::Text(format!("One op:\n\n{ops}")),
        ]
    }
}

const BACKEND: Column = Titled("Backend", &Dataset);

const SEED_COLUMNS: &[Column] = &[
    BACKEND,
    Operation,
    Latency,
    Interval,
    P50,
    P99,
    MemoryBytes,
    Allocations,
    TimesFloor,
    Column::Published,
];

const OUR_COLUMNS: &[Column] = &[
    Operation,
    BACKEND,
    Concurrency,
    Events("Messages"),
    Latency,
    Throughput,
    EventsPerSecond,
    P50,
    P99,
    MemoryBytes,
    Allocations,
    TimesFloor,
];

const MACHINE: &str = "Apple M3 Ultra, 28 cores";

const fn key(operation: &'static str, dataset: &'static str, events: u64) -> PublishedKey {
    PublishedKey {
        operation,
        dataset,
        concurrency: 1,
        events,
    }
}

const WRITES: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("WriteMessage", "SQLite In-Memory", 1), "~22 µs"),
        (key("WriteMessage", "SQLite File", 1), "~329 µs"),
        (key("WriteMessage", "Postgres", 1), "none given"),
    ],
};

const STREAMS: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (key("GetStreamMessages", "SQLite In-Memory", 10), "~30 µs"),
        (key("GetStreamMessages", "SQLite File", 10), "~40 µs"),
        (key("GetStreamMessages", "Postgres", 10), "none given"),
    ],
};

const CATEGORIES: PublishedText = PublishedText {
    machine: MACHINE,
    rows: &[
        (
            key("GetCategoryMessages", "SQLite In-Memory", 100),
            "~159 µs",
        ),
        (key("GetCategoryMessages", "SQLite File", 100), "~169 µs"),
        (key("GetCategoryMessages", "Postgres", 100), "none given"),
    ],
};

const fn seed(title: &'static str, id: TableId, published: &'static PublishedText) -> TitledTable {
    TitledTable {
        title,
        spec: TableSpec {
            id,
            columns: SEED_COLUMNS,
            ours: &[],
            published: Published::Text(published),
        },
    }
}

const fn ours(title: &'static str, id: TableId) -> TitledTable {
    TitledTable {
        title,
        spec: TableSpec {
            id,
            columns: OUR_COLUMNS,
            ours: &[],
            published: Published::Nothing,
        },
    }
}

/// The published rows.
pub(super) const SEED: [TitledTable; 3] = [
    seed("WriteMessage", super::WRITE, &WRITES),
    seed("GetStreamMessages (10)", super::STREAM, &STREAMS),
    seed("GetCategoryMessages (100)", super::CATEGORY, &CATEGORIES),
];

/// The rows without a published counterpart.
pub(super) const OURS: [TitledTable; 4] = [
    ours("Table sizes, 100 categories", super::SIZES),
    ours("Batches", super::BATCHES),
    ours("Concurrent writers", super::WRITERS),
    ours("Reads, decoded", super::DECODED),
];

/// Requests to a server.
pub(super) const HTTP: LoadTable = LoadTable {
    id: super::HTTP,
    store: "Backend",
    published: Some(&OVER_HTTP),
};

/// The figures of the Go server's page, on its machine.
const OVER_HTTP: PublishedText = PublishedText {
    machine: "Published (the Go server's page, its machine)",
    rows: &[
        (called("stream.write", "SQLite In-Memory"), "5-10k/s"),
        (called("stream.write", "Postgres"), "1-2k/s"),
    ],
};

const fn called(method: &'static str, backend: &'static str) -> PublishedKey {
    PublishedKey {
        concurrency: 16,
        ..key(method, backend, 1)
    }
}

/// The time of the published ops on each backend.
pub(super) fn chart(view: &View<'_>) -> Chart {
    let rows = [super::WRITE, super::STREAM, super::CATEGORY]
        .into_iter()
        .flat_map(|table| view.table(table, Reading::AsInTheSeed));
    let bars = rows.filter_map(|row| {
        let variant = row.declared.variant.as_deref().unwrap_or_default();
        let label = format!(
            "{} {} {variant}",
            row.declared.operation, row.declared.dataset
        );
        Some(Bar {
            label: label.trim_end().to_owned(),
            values: vec![row.figures()?.mean_ns.value / 1000.0],
        })
    });
    Chart {
        name: "message-store-latency".to_owned(),
        title: "Mean time of one op, µs".to_owned(),
        series: vec!["µs".to_owned()],
        bars: bars.collect(),
    }
}
