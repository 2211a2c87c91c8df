//! The event store embedded, on SQLite: `reports/sqlite.md`.

use crate::report::Column::{
    self, Allocations, BarrierOps, Concurrency, Dataset, LatencyNs, MemoryBytes, Operation, P50,
    P99, TimesFloor,
};
use crate::report::{Page, Published, Section, TableSpec, View, floors_table, goals_table};
use crate::row::{Reading, TableId};

/// Appends.
pub const APPEND: TableId = TableId("sqlite_append");
/// Queries and projections.
pub const READ: TableId = TableId("sqlite_read");

/// The page.
pub const PAGE: Page = Page {
    slug: "sqlite",
    title: "SQLite Performance",
    targets: &["sqlite"],
    body,
};

const COLUMNS: &[Column] = &[
    Operation,
    Dataset,
    Concurrency,
    BarrierOps,
    LatencyNs,
    MemoryBytes,
    Allocations,
];
const OURS: &[Column] = &[P50, P99, TimesFloor];

const READING: &str = "\
Blocking rows work on the caller's thread; async rows hop to another thread once per commit. A floor \
is the same work as a loop over SQLite's statements, in turns with its row. **Barrier ops/s** are ops \
per second; an op of the rows *in turn* is 1,000 appends. Memory and allocations are those of Rust \
code. SQLite's heap is not counted, neither for rows nor for floors.";

fn body(view: &View<'_>) -> Vec<Section> {
    let mut page = vec![Section::Text(READING.to_owned())];
    for (title, id) in [("Append", APPEND), ("Read", READ)] {
        let spec = TableSpec {
            id,
            columns: COLUMNS,
            ours: OURS,
            published: Published::Nothing,
        };
        let ops = spec.ops(view, Reading::AsInTheSeed);
        page.push(Section::Heading(2, title.to_owned()));
        page.push(Section::Table(spec.table(view, Reading::AsInTheSeed)));
        page.push(Section::Text(format!("One op:\n\n{ops}")));
    }
    page.push(Section::Heading(2, "Floors".to_owned()));
    page.push(Section::Table(floors_table(view)));
    page.push(Section::Heading(2, "Goals".to_owned()));
    page.push(Section::Table(goals_table(view)));
    page
}
