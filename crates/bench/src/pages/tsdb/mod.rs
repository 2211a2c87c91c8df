//! The time-series engine: `reports/tsdb.md`.

mod capacity;
mod claims;
#[rustfmt::skip] // A row per line, as on the published page.
mod figures;
mod memory;
mod tables;

use crate::report::number::whole;
use crate::report::{Page, Section, View, goals_table};
use crate::result::RowResult;
use crate::row::{Reading, TableId};

/// Writes through JSON.
pub const WRITE: TableId = TableId("tsdb_write");
/// Queries through JSON.
pub const QUERY: TableId = TableId("tsdb_query");
/// Answers of a server's handlers.
pub const HTTP: TableId = TableId("tsdb_http");
/// Requests to a server over a socket.
pub const LOAD: TableId = TableId("tsdb_load");
/// Allocations of one op.
pub const MEMORY: TableId = TableId("tsdb_memory");
/// Large requests, and many concurrent ones.
pub const STRESS: TableId = TableId("tsdb_stress");
/// Writes through the engine's API.
pub const ENGINE_WRITE: TableId = TableId("tsdb_engine_write");
/// Writes with a log, replay and restart.
pub const LOG: TableId = TableId("tsdb_log");
/// Reads through the engine's API.
pub const ENGINE_READ: TableId = TableId("tsdb_engine_read");
/// Finding series.
pub const SELECT: TableId = TableId("tsdb_select");
/// The memory of a million points.
pub const HEAP: TableId = TableId("tsdb_heap");

/// The dataset of rows that write or read one series.
pub const ONE_SERIES: &str = "1 series";

/// The dataset of rows that use this many series.
pub fn series_text(series: usize) -> String {
    whole(series as f64) + " series"
}

/// The page.
pub const PAGE: Page = Page {
    slug: "tsdb",
    title: "Time-Series Engine Performance",
    targets: &["tsdb_write", "tsdb_query", "http_series"],
    body,
};

const READING: &str = "\
**As in the seed** runs the ops of the published page: the function behind the HTTP handlers is called \
in the process, without a socket. There is one metric with one series, every write has the same \
timestamps (so duplicates are kept), and every query returns all points of the metric. **On the \
dataset** has the cases that the published page lacks: distinct timestamps, many series, a log, the \
engine's API.

- **Latency**: mean time of one op. **± (95 %)**: half-width of its bootstrap interval.
- **Points/s**: points of all calls per elapsed second.
- **Memory**, **Allocations**: of this process for one op, counted in a separate pass.
- **p50**, **p99**: of single calls, or of blocks of calls if a call is too short for the clock.
- **Published**: the figures of the published page, and their machine. Peers under *Goals* were \
measured on the machine on which this engine was developed.";

const OVER_A_SOCKET: &str = "\
The demo server runs as a separate process with its series in memory. The server and the callers share \
the machine's cores. Each caller has an open connection and sends its next request when the last one is \
answered. **Library** is the function behind the handler, called by the same number of callers in this \
process. The published page has no figures over a socket.";

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![
        heading(2, "Reading the tables"),
        Section::Text(READING.to_owned()),
    ];
    for (title, details) in tables::CHAPTERS {
        page.push(heading(2, title));
        page.extend(details.iter().flat_map(|detail| detail.sections(view)));
    }
    page.push(heading(2, "Over a socket"));
    page.push(Section::Text(OVER_A_SOCKET.to_owned()));
    page.extend(tables::LOAD.sections(view));
    page.push(heading(2, "Memory by the shape of the data"));
    page.extend(memory::sections(view));
    page.push(heading(2, "Scaling with size"));
    page.extend(memory::scaling(view));
    page.push(heading(2, "Capacity estimates"));
    page.extend(capacity::sections(view));
    page.push(heading(2, "Comparison with other databases"));
    page.extend(claims::comparison(view));
    page.push(heading(2, "Announced optimizations"));
    page.extend(claims::optimizations(view));
    page.push(heading(2, "Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}

fn heading(level: usize, text: &str) -> Section {
    Section::Heading(level, text.to_owned())
}

/// The measured row of an operation.
fn row<'a>(
    view: &View<'a>,
    table: TableId,
    reading: Reading,
    operation: &str,
) -> Option<&'a RowResult> {
    view.table(table, reading)
        .find(|row| row.declared.operation == operation)
}

/// The mean time of an operation's row, in ns.
fn mean_ns(view: &View<'_>, table: TableId, reading: Reading, operation: &str) -> Option<f64> {
    let figures = row(view, table, reading, operation)?.figures()?;
    Some(figures.mean_ns.value)
}

const NOT_MEASURED: &str = "not measured";
