//! The message store on SQLite and PostgreSQL: `reports/message-store.md`.

mod tables;
mod targets;

use crate::report::{Page, Section, View, floors_table, goals_table};
use crate::row::TableId;

/// The published rows of writes.
pub const WRITE: TableId = TableId("message_write");
/// The published rows of reads of 10 messages of a stream.
pub const STREAM: TableId = TableId("message_stream");
/// The published rows of reads of 100 messages of a category.
pub const CATEGORY: TableId = TableId("message_category");
/// The same ops in tables of several sizes.
pub const SIZES: TableId = TableId("message_sizes");
/// Batches of several sizes.
pub const BATCHES: TableId = TableId("message_batches");
/// Concurrent writers.
pub const WRITERS: TableId = TableId("message_writers");
/// Requests to a server.
pub const HTTP: TableId = TableId("message_http");
/// Reads that decode their JSON.
pub const DECODED: TableId = TableId("message_decoded");

/// The page.
pub const PAGE: Page = Page {
    slug: "message-store",
    title: "Message Store Performance",
    targets: &["message_store", "http_messages"],
    body,
};

const READING: &str = "\
Each backend has its documented defaults: SQLite in a file with `synchronous = FULL`, PostgreSQL with \
`fsync` and `synchronous_commit` on. Rows with `synchronous = NORMAL` say so: they lose their last \
commits in a power failure.

One op at concurrency C is one call by each of C tasks, or threads for the blocking API. It ends when \
the last call returns.
- **Latency**: mean time of one op. **p50**, **p99**: of single calls.
- **Memory**, **Allocations**: of this process for one op, counted in a separate pass. Memory that \
SQLite's C code allocates is not counted.
- **× floor**: the row's time divided by the time of the bare driver on the same tables, rusqlite or \
sqlx with prepared statements. Both took turns within each sample; the figure is the median over \
samples.
- **Published**: the figures of the published page, and their machine.";

const CORRECTION: &str = "\
The published rows write to a new stream each time, read the first 10 of 100 messages of one \
stream, and read 100 messages of one category from a table without other messages. On such a table a \
category read that scans everything looks as fast as a read by index; see the table sizes below. The \
published reads decode JSON into maps. Ours return the text, and the rows *decoded* decode it.";

const OVER_HTTP: &str = "\
The demo server runs as a separate process and answers `POST /rpc`. The server, PostgreSQL and the \
callers share the machine's cores. Each caller has an open connection and sends its next request when \
the last one is answered. **Success** is the share of requests answered with 200 and the promised \
result. **Library** is the same call of the store by the same number of callers in this process.";

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![
        heading(2, "Reading the tables"),
        Section::Text(READING.to_owned()),
        heading(2, "Benchmark Results"),
    ];
    for table in &tables::SEED {
        page.extend(table.sections(view));
    }
    page.push(Section::Text(CORRECTION.to_owned()));
    page.push(Section::Chart(tables::chart(view)));
    page.push(heading(2, "Performance Targets vs Actuals"));
    page.extend(targets::sections(view));
    page.push(heading(2, "Beyond the published rows"));
    for table in &tables::OURS {
        page.extend(table.sections(view));
    }
    page.push(heading(2, "Over HTTP"));
    page.push(Section::Text(OVER_HTTP.to_owned()));
    page.extend(tables::HTTP.sections(view));
    page.push(heading(2, "Floors"));
    page.push(Section::Table(floors_table(view)));
    page.push(heading(2, "Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}

fn heading(level: usize, text: &str) -> Section {
    Section::Heading(level, text.to_owned())
}
