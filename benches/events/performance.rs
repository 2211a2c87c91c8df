//! The benchmarks of the Go library's first page of figures: append, read, project.
//!
//! - **As in the seed**: the log is empty before the row begins, so reads and projections find
//!   nothing. The events are small and have the same fields.
//! - **On the dataset**: the log holds the dataset and 100 past events, and the appended events are
//!   courses, students and enrollments. The larger dataset is measured again on SQLite, in a file
//!   with one fsync per commit.

use crate::support::backend::SqliteLog;
use crate::support::content::Content;
use crate::support::log::Log;
use crate::support::operations::{Operation, Projectors, Selection};
use crate::support::rows::Reading;
use crate::support::server::Servers;
use crate::support::size::Size;
use bench::{BoxError, Row, Target};

/// The label on this page, and the dataset's label on the other pages.
const SIZES: [(&str, &str); 2] = [("Tiny", "Tiny"), ("Small", "Medium")];
/// The dataset that is measured again on SQLite.
const SQLITE_AT: &str = "Small";

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let local = servers.local(target);
    target.facts().set("SQLite", rusqlite::version());
    let of_tables = Size::of_tables(target.profile());
    for (label, table_label) in SIZES {
        let size = of_tables.iter().find(|size| size.label == table_label);
        let size = size.ok_or("the tables lack a dataset of this page")?;
        let empty = Reading::Seed.write_log(&local, *size);
        for entry in entries(Operation::AppendTest, Operation::AppendTestIf) {
            let row = entry
                .row(label)
                .one_op(format!("{}; the log was empty", entry.op.text()));
            target.row(row.floor(&entry.op.floor(&empty)), &entry.op.on(&empty));
        }
        let (log, sqlite) = (
            Log::of(&local, *size),
            SqliteLog::new(Content::Dataset(size.dataset)),
        );
        for entry in entries(Operation::Append, Operation::AppendIf) {
            let row = || entry.row(label).on_the_dataset().one_op(entry.op.text());
            target.row(row().floor(&entry.op.floor(&log)), &entry.op.on(&log));
            // On SQLite only one of the two datasets is measured.
            if label == SQLITE_AT {
                target.row(row().variant("SQLite"), &entry.op.on(&sqlite));
            }
        }
    }
    Ok(())
}

/// One row of the page's tables.
struct Entry {
    table: &'static str,
    name: &'static str,
    events: u64,
    op: Operation,
}

impl Entry {
    fn row(&self, dataset: &str) -> Row {
        let row = Row::new(self.name, dataset);
        row.events(self.events).fills(self.table)
    }
}

fn entries(append: fn(usize) -> Operation, append_if: fn(usize) -> Operation) -> Vec<Entry> {
    let entry = |table, name, events: usize, op| Entry {
        table,
        name,
        events: events as u64,
        op,
    };
    let appends = [1, 10, 100, 1_000].map(|n| entry("performance_append", "Append", n, append(n)));
    let conditional = [10, 100].map(|n| entry("performance_append", "AppendIf", n, append_if(n)));
    let read = |name, op| entry("performance_read", name, 1, op);
    let projection = |name, op| entry("performance_projection", name, 1, op);
    let others = [
        read("Simple Read", Operation::Query(Selection::Simple)),
        read("Complex Queries", Operation::Query(Selection::Complex)),
        read("Channel Streaming", Operation::Channel(Selection::Simple)),
        projection("Single Projection", Operation::Project(Projectors::One)),
        projection("Multiple Projections", Operation::Project(Projectors::Five)),
        projection(
            "Streaming Projections",
            Operation::ProjectStream(Projectors::Five),
        ),
    ];
    appends
        .into_iter()
        .chain(conditional)
        .chain(others)
        .collect()
}
