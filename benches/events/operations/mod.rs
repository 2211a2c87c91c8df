//! The operations of the Go library's second page of figures, on its dataset of 61,000 events, and
//! the cost and benefit of each index.
//!
//! - **As in the seed**: the log holds the dataset and grows. Appended events are small and have
//!   the same fields. The published reads draw ids at random; here the ids are fixed.
//! - **On the dataset**: the appended events are courses, students and enrollments. The rows are
//!   measured again on SQLite, in a file with one fsync per commit.
//! - **Indexes**: the log's tables with one index dropped, written and read by the driver. The
//!   store refuses a schema that lacks an index.
//!
//! Memory that SQLite's C code allocates is not counted.

mod indexes;
use crate::support::backend::SqliteLog;
use crate::support::content::Content;
use crate::support::log::Log;
use crate::support::operations::{Operation, Projectors, Selection};
use crate::support::server::Servers;
use crate::support::size::Size;
use bench::{BoxError, Row, Target};

/// The label on this page; the other pages call this dataset "Medium".
const LABEL: &str = "Small";

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let local = servers.local(target);
    target.facts().set("SQLite", rusqlite::version());
    let sizes = Size::of_tables(target.profile());
    let size = sizes.iter().find(|size| size.has_goals());
    let size = *size.ok_or("the tables lack the dataset of this page")?;
    let (log, sqlite) = (
        Log::of(&local, size),
        SqliteLog::new(Content::Dataset(size.dataset)),
    );
    for (table, name, events, op) in entries(Operation::AppendTest) {
        let row = row(table, name, events).one_op(op.text());
        target.row(op.with_floor(row, &log), &op.on(&log));
    }
    for (table, name, events, op) in entries(Operation::Append) {
        let row = || row(table, name, events).on_the_dataset().one_op(op.text());
        target.row(op.with_floor(row(), &log), &op.on(&log));
        target.row(row().variant("SQLite"), &op.on(&sqlite));
    }
    indexes::declare(target, &log);
    Ok(())
}

fn row(table: &'static str, name: &str, events: u64) -> Row {
    Row::new(name, LABEL).events(events).fills(table)
}

type Entry = (&'static str, &'static str, u64, Operation);

#[rustfmt::skip] // An operation per line.
fn entries(append: fn(usize) -> Operation) -> Vec<Entry> {
    let (read, projection, memory) = ("operations_read", "operations_projection", "operations_memory");
    let (one, five) = (Projectors::One, Projectors::Five);
    let appends = [1, 10, 100, 1_000].map(|n| ("operations_append", "Append", n as u64, append(n)));
    let others = [
        (read, "Simple Read", 1, Operation::Query(Selection::Simple)),
        (read, "Complex Read", 1, Operation::Query(Selection::Complex)),
        (read, "Stream Read", 1, Operation::Stream(Selection::Simple)),
        (read, "Stream Channel", 1, Operation::Channel(Selection::Simple)),
        (projection, "Projector 1", 1, Operation::Project(one)),
        (projection, "Projector 5", 1, Operation::Project(five)),
        (projection, "Channel 1", 1, Operation::ProjectStream(one)),
        (projection, "Channel 5", 1, Operation::ProjectStream(five)),
        (memory, "MemoryRead", 1, Operation::Query(Selection::Enrollments)),
        (memory, "MemoryStream", 1, Operation::Stream(Selection::Enrollments)),
        (memory, "MemoryProjection", 1, Operation::Project(five)),
    ];
    appends.into_iter().chain(others).collect()
}
