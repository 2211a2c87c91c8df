//! The time-series engine: `reports/tsdb.md`.

mod capacity;
mod claims;
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
/// A server's own answers.
pub const HTTP: TableId = TableId("tsdb_http");
/// Requests to a server over a socket.
pub const LOAD: TableId = TableId("tsdb_load");
/// What one op allocates.
pub const MEMORY: TableId = TableId("tsdb_memory");
/// Large requests, and many at once.
pub const STRESS: TableId = TableId("tsdb_stress");
/// Writes by the engine's calls.
pub const ENGINE_WRITE: TableId = TableId("tsdb_engine_write");
/// Writes with a log, replay and restart.
pub const LOG: TableId = TableId("tsdb_log");
/// Reads by the engine's calls.
pub const ENGINE_READ: TableId = TableId("tsdb_engine_read");
/// Finding series.
pub const SELECT: TableId = TableId("tsdb_select");
/// What a million points occupy.
pub const HEAP: TableId = TableId("tsdb_heap");

/// The dataset of rows that write or read one series.
pub const ONE_SERIES: &str = "1 series";

/// The dataset of rows on so many series.
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
**As in the seed** does the ops of the published page that this page answers: the function behind \
its HTTP handlers is called in the process, without a socket; one metric, one series, the same \
timestamps in every write (so duplicates are kept), all points of the metric in every query. **On \
the dataset** does what is missing there: distinct timestamps, many series, a log, the engine's own \
calls.

- **Latency**: mean time of one op. **± (95 %)**: half-width of its bootstrap interval.
- **Points/s**: points of all calls per elapsed second.
- **Memory**, **Allocations**: of this process for one op, from a pass of their own.
- **p50**, **p99**: of single calls, or of blocks of them where a call is shorter than the clock.
- **Published**: the figures of the page, and the machine they are from. Peers under *Figures to \
reach* were measured on the machine that this engine was built on.";

const OVER_A_SOCKET: &str = "\
The demo server in a process of its own, with its series in memory; it and the callers share the \
machine's cores. A caller has a connection that is kept open, and sends its next request when the last \
is answered. **Library** is the function behind the handler, called by as many callers in this process. \
The published page has no figures over a socket.";

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
    page.push(heading(2, "What the announced optimizations came to"));
    page.extend(claims::optimizations(view));
    page.push(heading(2, "Figures to reach"));
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

/// Its mean time in ns.
fn mean_ns(view: &View<'_>, table: TableId, reading: Reading, operation: &str) -> Option<f64> {
    let figures = row(view, table, reading, operation)?.figures()?;
    Some(figures.mean_ns.value)
}

const NOT_MEASURED: &str = "not measured";
