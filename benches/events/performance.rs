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
            let op = entry.3;
            let row = row(&entry, label).one_op(format!("{}; the log was empty", op.text()));
            target.row(op.with_floor(row, &empty), &op.on(&empty));
        }
        let (log, sqlite) = (
            Log::of(&local, *size),
            SqliteLog::new(Content::Dataset(size.dataset)),
        );
        for entry in entries(Operation::Append, Operation::AppendIf) {
            let op = entry.3;
            let row = || row(&entry, label).on_the_dataset().one_op(op.text());
            target.row(op.with_floor(row(), &log), &op.on(&log));
            // On SQLite only one of the two datasets is measured.
            if label == SQLITE_AT {
                target.row(row().variant("SQLite"), &op.on(&sqlite));
            }
        }
    }
    Ok(())
}

fn row((table, name, events, _): &Entry, dataset: &str) -> Row {
    Row::new(name, dataset).events(*events).fills(table)
}

type Entry = (&'static str, &'static str, u64, Operation);

#[rustfmt::skip] // An operation per line.
fn entries(append: fn(usize) -> Operation, append_if: fn(usize) -> Operation) -> Vec<Entry> {
    let [appends, read, projection] = ["performance_append", "performance_read", "performance_projection"];
    let (one, five) = (Projectors::One, Projectors::Five);
    let unconditional = [1, 10, 100, 1_000].map(|n| (appends, "Append", n as u64, append(n)));
    let conditional = [10, 100].map(|n| (appends, "AppendIf", n as u64, append_if(n)));
    let others = [
        (read, "Simple Read", 1, Operation::Query(Selection::Simple)),
        (read, "Complex Queries", 1, Operation::Query(Selection::Complex)),
        (read, "Channel Streaming", 1, Operation::Channel(Selection::Simple)),
        (projection, "Single Projection", 1, Operation::Project(one)),
        (projection, "Multiple Projections", 1, Operation::Project(five)),
        (projection, "Streaming Projections", 1, Operation::ProjectStream(five)),
    ];
    unconditional.into_iter().chain(conditional).chain(others).collect()
}
