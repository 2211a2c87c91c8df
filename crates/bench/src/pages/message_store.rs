//! The message store on SQLite and PostgreSQL: `reports/message-store.md`.

mod tables;
mod targets;

use crate::report::{Page, Section, View, floors_table, goals_table};
use crate::row::TableId;

/// The nine published rows, each of its operation's table.
pub const WRITE: TableId = TableId("message_write");
/// The published rows of reads of 10 messages of a stream.
pub const STREAM: TableId = TableId("message_stream");
/// The published rows of reads of 100 messages of a category.
pub const CATEGORY: TableId = TableId("message_category");
/// The same ops in tables of several sizes.
pub const SIZES: TableId = TableId("message_sizes");
/// Batches of several sizes.
pub const BATCHES: TableId = TableId("message_batches");
/// Several writers at once.
pub const WRITERS: TableId = TableId("message_writers");
/// Requests to a server.
pub const HTTP: TableId = TableId("message_http");
/// Reads with their JSON decoded.
pub const DECODED: TableId = TableId("message_decoded");

/// The page.
pub const PAGE: Page = Page {
    slug: "message-store",
    title: "Message Store Performance",
    targets: &["message_store", "http_messages"],
    body,
};

const READING: &str = "\
Each backend in its documented default: SQLite in a file with `synchronous = FULL`, PostgreSQL with \
`fsync` and `synchronous_commit` on. Rows with `synchronous = NORMAL` say so: a loss of power takes \
their last commits.

One op at concurrency C is C tasks, or threads of the blocking API, that make one call each; it ends \
when the last has returned.
- **Latency**: mean time of one op. **p50**, **p99**: of single calls.
- **Memory**, **Allocations**: of this process for one op, from a pass of their own. What SQLite \
itself allocates is not seen.
- **× floor**: the row's time divided by that of the driver alone on the same tables, rusqlite or \
sqlx with prepared statements; the median over samples in which both took turns.
- **Published**: the figures of the page that this one answers, and the machine they are from.";

const CORRECTION: &str = "\
The published rows write to a new stream each time, read the first 10 of 100 messages of one \
stream, and 100 messages of one category in a table that holds nothing else. So a category read \
that walks the whole table looks as fast as one by index: see the table sizes below. Its reads decode \
JSON into maps; ours hand out the text, and the rows *decoded* decode it.";

const OVER_HTTP: &str = "\
The demo server in a process of its own, asked by `POST /rpc`; it, PostgreSQL and the callers share the \
machine's cores. A caller has a connection that is kept open, and sends its next request when the last \
is answered. **Success** is the share of the requests that were answered 200 with the result that the \
method promises. **Library** is the same call of the store by as many callers in this process.";

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
    page.push(heading(2, "What the published rows can't show"));
    for table in &tables::OURS {
        page.extend(table.sections(view));
    }
    page.push(heading(2, "Over HTTP"));
    page.push(Section::Text(OVER_HTTP.to_owned()));
    page.extend(tables::HTTP.sections(view));
    page.push(heading(2, "Floors"));
    page.push(Section::Table(floors_table(view)));
    page.push(heading(2, "Figures to reach"));
    page.push(Section::Table(goals_table(view)));
    page
}

fn heading(level: usize, text: &str) -> Section {
    Section::Heading(level, text.to_owned())
}
