//! The event store by the operations of the Go library's benchmark report, on 61,000 events, and
//! the cost of its indexes: `reports/operations.md`.

#[rustfmt::skip] // A row per line, as on the published page.
mod figures;

use crate::report::Column::{
    self, Allocations, Events, EventsPerSecond, Interval, Latency, Memory, Operation, P50, P99,
    PeakKilobytes, Published as PublishedColumn, Throughput, TimesFloor, Titled,
};
use crate::report::{Detail, Page, Published, Section, TableSpec, View, floors_table, raw_block};
use crate::result::RowResult;
use crate::row::{Reading, TableId};

/// Append.
pub const APPEND: TableId = TableId("operations_append");
/// Reads of a few events.
pub const READ: TableId = TableId("operations_read");
/// Projections of a few events.
pub const PROJECTION: TableId = TableId("operations_projection");
/// Reads of most of the log.
pub const MEMORY: TableId = TableId("operations_memory");
/// Appends and reads with and without an index.
pub const INDEXES: TableId = TableId("operations_indexes");

/// The page.
pub const PAGE: Page = Page {
    slug: "operations",
    title: "Benchmark Report by Operation",
    targets: &["operations"],
    body,
};

const WRITING: &[Column] = &[
    Operation,
    Events("Events"),
    Titled("Performance", &Latency),
    Titled("Throughput (events/sec)", &EventsPerSecond),
    Titled("Memory Usage", &Memory),
    Allocations,
];
const READING: &[Column] = &[
    Operation,
    Titled("Performance", &Latency),
    Titled("Memory Usage", &Memory),
    Allocations,
];
const OURS: &[Column] = &[
    Throughput,
    PeakKilobytes,
    Interval,
    P50,
    P99,
    TimesFloor,
    PublishedColumn,
];
const INDEX_COLUMNS: &[Column] = &[Operation, Throughput, Latency];
const INDEX_OURS: &[Column] = &[Interval, P50, P99];

const INTRODUCTION: &str = "\
The log holds the dataset before each row: 1,000 courses, 10,000 students, 50,000 requested \
enrollments. **As in the seed** appends small events with two tags, and the log grows, as on the \
published page. The published reads draw ids at random; here the ids are fixed. **On the dataset** \
appends events of the domain. Its rows appear once for PostgreSQL and once for **SQLite**, in a file \
on this machine with one fsync per commit.

One op is one call by one caller. Memory Usage and Allocations are of this process for one op, \
including the building of events, counted in a separate pass; memory that SQLite's C code allocates is \
not counted. Peak is the maximum memory in use during an op, relative to its start. [The page of the \
local PostgreSQL](local-postgresql.md) explains the other columns.";

const DETAILS: [Detail; 4] = [
    Detail {
        title: "Append Operations",
        spec: table(APPEND, WRITING, Published::Text(&figures::APPEND)),
        correction: "\
a batch of 1,000 takes 272 times as long as a single event, which is 3.7 times less per event; the \
page calls it 272 times more efficient.",
        chart: Some("append"),
    },
    Detail {
        title: "Read Operations",
        spec: table(READ, READING, Published::Text(&figures::READ)),
        correction: "\
they come from random queries that find few events or none.",
        chart: Some("read"),
    },
    Detail {
        title: "Projection Operations",
        spec: table(PROJECTION, READING, Published::Text(&figures::PROJECTION)),
        correction: "\
the page prints two runs of the same rows, with 468 µs in one and 3,640 µs in the other.",
        chart: Some("projection"),
    },
    Detail {
        title: "Memory Usage Operations",
        spec: table(MEMORY, READING, Published::Text(&figures::MEMORY)),
        correction: "\
Memory Usage is the growth of the heap at the end, 569 KB and 699 bytes. The raw block of that page \
has the allocations of one op: 99.2 MB, 63.7 MB and 102 KB.",
        chart: Some("memory"),
    },
];

const INDEXES_TEXT: &str = "\
An append of one event, and the read that an index serves, on the log's tables with and without the \
index. The rows use prepared statements of the driver, because the store refuses a schema that lacks an \
index. `event_pkey` cannot be dropped: it keeps positions unique. The head of the page has the storage \
options of the tables.";

const fn table(id: TableId, columns: &'static [Column], published: Published) -> TableSpec {
    TableSpec {
        id,
        columns,
        ours: OURS,
        published,
    }
}

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![Section::Text(INTRODUCTION.to_owned())];
    page.push(heading("Performance Results by Category"));
    page.extend(DETAILS.iter().flat_map(|detail| detail.sections(view)));
    page.push(heading("Schema"));
    page.push(Section::Text(INDEXES_TEXT.to_owned()));
    let indexes = TableSpec {
        id: INDEXES,
        columns: INDEX_COLUMNS,
        ours: INDEX_OURS,
        published: Published::Nothing,
    };
    page.push(Section::Table(indexes.table(view, Reading::OnTheDataset)));
    page.push(heading("Floors"));
    page.push(Section::Table(floors_table(view)));
    page.push(heading("Raw Benchmark Results"));
    page.push(Section::Text(
        "As in the seed, one line per row. A run also writes all samples to `raw/operations.txt`."
            .to_owned(),
    ));
    let published = view.rows().filter(|row| is_published(row));
    page.push(Section::Text(raw_block(published)));
    page
}

fn is_published(row: &RowResult) -> bool {
    row.declared.reading == Reading::AsInTheSeed
}

fn heading(text: &str) -> Section {
    Section::Heading(2, text.to_owned())
}
