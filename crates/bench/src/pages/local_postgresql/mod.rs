//! The event store on a local PostgreSQL: `reports/local-postgresql.md`.

mod columns;
mod comparison;
mod figures;
mod tables;

use crate::report::{
    Page, Section, View, calls_range, concurrency_gain, floors_table, goals_table, memory_range,
};
use crate::result::RowResult;
use crate::row::{Reading, TableId};

/// One caller of each operation, locally and on a second server.
pub const COMPARISON: TableId = TableId("comparison");
/// Append, in ns and bytes.
pub const APPEND: TableId = TableId("append");
/// AppendIf without conflict, in ns and bytes.
pub const APPEND_IF: TableId = TableId("append_if");
/// Project, in ns and bytes.
pub const PROJECT: TableId = TableId("project");
/// Query, in ns and bytes.
pub const QUERY: TableId = TableId("query");
/// Append, in ms and KB.
pub const APPEND_MS: TableId = TableId("append_ms");
/// AppendIf without conflict, in ms and KB.
pub const APPEND_IF_MS: TableId = TableId("append_if_ms");
/// AppendIf with conflict, in ms and KB.
pub const APPEND_IF_CONFLICT_MS: TableId = TableId("append_if_conflict_ms");
/// Project and ProjectStream, in ms and KB.
pub const PROJECTION_MS: TableId = TableId("projection_ms");
/// Query and QueryStream, in ms and KB.
pub const READ_MS: TableId = TableId("read_ms");
/// ProjectionLimits, in ms and KB.
pub const PROJECTION_LIMITS_MS: TableId = TableId("projection_limits_ms");

/// The page.
pub const PAGE: Page = Page {
    slug: "local-postgresql",
    title: "Local PostgreSQL Performance",
    targets: &[
        "append",
        "append_if",
        "query",
        "project",
        "streams",
        "projection_limits",
    ],
    body,
};

const READING: &str = "\
Each table appears twice. **As in the seed** runs the op of the published page, including its \
shortcuts. **On the dataset** runs the op that the row's heading describes: the dataset is loaded, \
past events exist, conflicts are real, and streams are read to their end.

One op at concurrency C is one call by each of C tasks. The tasks exist before the clock starts; they \
are released together, and the op ends when the last call returns.
- **Throughput (ops/sec)**: calls per elapsed second, C × barrier ops.
- **Barrier ops/s**: ops per second, the reciprocal of the latency. The published ns and bytes tables \
print it as ops/sec.
- **Latency**: mean time of one op. **± (95 %)**: half-width of its bootstrap interval.
- **Memory**, **Allocations**: of this process for one op, including the building of events, \
counted in a separate pass.
- **p50**, **p99**: of single calls, from the release of their task to their answer.
- **Events/s**: events of all calls per elapsed second. **Peak**: the maximum memory in use during \
one op, relative to its start.
- **× floor**: the row's time divided by its floor's. Both took turns within each sample; the figure \
is the median over samples, with its interval. It can be compared between machines, the other figures \
cannot.
- **Published**: the seed's figures and their machine.";

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![
        heading(2, "Reading the tables"),
        Section::Text(READING.to_owned()),
    ];
    page.push(heading(2, "Performance Results"));
    page.extend(comparison::sections(view));
    page.push(heading(2, "Detailed Performance Results (ns and bytes)"));
    page.extend(tables::NS.iter().flat_map(|detail| detail.sections(view)));
    page.push(Section::Text(insights(view)));
    page.push(heading(2, "Detailed Performance Results (ms and KB)"));
    page.extend(tables::MS.iter().flat_map(|detail| detail.sections(view)));
    page.push(heading(2, "Floors"));
    page.push(Section::Text(
        "Each floor was measured next to each of its rows, in turns with it.".into(),
    ));
    page.push(Section::Table(floors_table(view)));
    page.push(heading(2, "Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}

fn heading(level: usize, text: &str) -> Section {
    Section::Heading(level, text.to_owned())
}

/// The published page's list of insights, computed from this run.
fn insights(view: &View<'_>) -> String {
    let rows_of = |table| view.table(table, Reading::AsInTheSeed).collect::<Vec<_>>();
    let append: Vec<&RowResult> = rows_of(APPEND);
    let append_if = rows_of(APPEND_IF);
    let project = rows_of(PROJECT);
    let query = rows_of(QUERY);
    let groups = [
        (&append, 1),
        (&append_if, 1),
        (&project, 100),
        (&query, 100),
    ];
    let ranges = groups
        .iter()
        .map(|(rows, events)| calls_range(rows, 1, *events));
    let gains = groups
        .iter()
        .map(|(rows, events)| concurrency_gain(rows, 100, *events));
    let memory = groups
        .iter()
        .map(|(rows, events)| memory_range(rows, 1, *events));
    let lines = ranges.chain(gains).chain(memory).flatten();
    let list: String = lines.map(|line| format!("- {line}\n")).collect();
    format!("**Key Performance Insights** (as in the seed)\n\n{list}")
}
