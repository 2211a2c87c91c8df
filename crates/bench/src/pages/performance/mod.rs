//! The event store by the operations of the Go library's performance page:
//! `reports/performance.md`.

#[rustfmt::skip] // A row per line, as on the published page.
mod figures;
mod load;

use crate::report::Column::{
    self, Allocations, Dataset, Events, EventsPerSecond, Interval, Latency, Memory, Operation, P50,
    P99, PeakKilobytes, Published as PublishedColumn, Throughput, TimesFloor,
};
use crate::report::{Detail, Page, Published, Section, TableSpec, View, floors_table, goals_table};
use crate::row::TableId;

pub use load::{CLOSED, FIXED_RATE, WEB_APP};

/// Append and AppendIf.
pub const APPEND: TableId = TableId("performance_append");
/// Reads.
pub const READ: TableId = TableId("performance_read");
/// Projections.
pub const PROJECTION: TableId = TableId("performance_projection");

/// The page.
pub const PAGE: Page = Page {
    slug: "performance",
    title: "Performance Benchmarks",
    targets: &["performance", "http_events"],
    body,
};

const WRITING: &[Column] = &[
    Operation,
    Dataset,
    Events("Events"),
    Throughput,
    Latency,
    Memory,
    Allocations,
];
const OURS_WRITING: &[Column] = &[
    EventsPerSecond,
    Interval,
    P50,
    P99,
    TimesFloor,
    PublishedColumn,
];
const READING: &[Column] = &[Operation, Dataset, Throughput, Latency, Memory, Allocations];
const OURS_READING: &[Column] = &[
    PeakKilobytes,
    Interval,
    P50,
    P99,
    TimesFloor,
    PublishedColumn,
];

const INTRODUCTION: &str = "\
Each table appears twice. **As in the seed** runs the op of the published page, including its \
shortcuts: the log is empty before each row. **On the dataset** has the dataset and 100 past events in \
the log, and uses events of the domain. The rows of Small appear once for PostgreSQL and once for \
**SQLite**, in a file with one fsync per commit.

One op is one call by one caller. Memory and allocations are of this process for one op, including the \
building of events, counted in a separate pass; memory that SQLite's C code allocates is not counted. \
[The page of the local PostgreSQL](local-postgresql.md) explains the columns after Allocations.";

const DETAILS: [Detail; 3] = [
    Detail {
        title: "Append Performance",
        spec: TableSpec {
            id: APPEND,
            columns: WRITING,
            ours: OURS_WRITING,
            published: Published::Text(&figures::APPEND),
        },
        correction: "\
a range covers both datasets, small and tiny, which play no part because the table is emptied first. \
AppendIf asks for a type and a tag that never occur, and takes 240 ms for any batch size.",
        chart: Some("append"),
    },
    Detail {
        title: "Read Performance",
        spec: TableSpec {
            id: READ,
            columns: READING,
            ours: OURS_READING,
            published: Published::Text(&figures::READ),
        },
        correction: "\
they come from an empty table: a query that finds nothing makes 27 allocations.",
        chart: Some("read"),
    },
    Detail {
        title: "Projection Performance",
        spec: TableSpec {
            id: PROJECTION,
            columns: READING,
            ours: OURS_READING,
            published: Published::Text(&figures::PROJECTION),
        },
        correction: "\
they come from an empty table: no event is folded.",
        chart: Some("projection"),
    },
];

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![Section::Text(INTRODUCTION.to_owned())];
    page.push(Section::Heading(2, "Library Benchmarks".to_owned()));
    page.extend(DETAILS.iter().flat_map(|detail| detail.sections(view)));
    page.extend(load::sections(view));
    page.push(Section::Heading(2, "Floors".to_owned()));
    page.push(Section::Table(floors_table(view)));
    page.push(Section::Heading(2, "Goals".to_owned()));
    page.push(Section::Table(goals_table(view)));
    page
}
