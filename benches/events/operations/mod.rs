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
        target.row(row.floor(&op.floor(&log)), &op.on(&log));
    }
    for (table, name, events, op) in entries(Operation::Append) {
        let row = || row(table, name, events).on_the_dataset().one_op(op.text());
        target.row(row().floor(&op.floor(&log)), &op.on(&log));
        target.row(row().variant("SQLite"), &op.on(&sqlite));
    }
    indexes::declare(target, &log);
    Ok(())
}

fn row(table: &'static str, name: &str, events: u64) -> Row {
    Row::new(name, LABEL).events(events).fills(table)
}

type Entry = (&'static str, &'static str, u64, Operation);

fn entries(append: fn(usize) -> Operation) -> Vec<Entry> {
    let appends = [1, 10, 100, 1_000].map(|n| ("operations_append", "Append", n as u64, append(n)));
    let (one, five) = (Projectors::One, Projectors::Five);
    let others = [
        (
            "operations_read",
            "Simple Read",
            Operation::Query(Selection::Simple),
        ),
        (
            "operations_read",
            "Complex Read",
            Operation::Query(Selection::Complex),
        ),
        (
            "operations_read",
            "Stream Read",
            Operation::Stream(Selection::Simple),
        ),
        (
            "operations_read",
            "Stream Channel",
            Operation::Channel(Selection::Simple),
        ),
        (
            "operations_projection",
            "Projector 1",
            Operation::Project(one),
        ),
        (
            "operations_projection",
            "Projector 5",
            Operation::Project(five),
        ),
        (
            "operations_projection",
            "Channel 1",
            Operation::ProjectStream(one),
        ),
        (
            "operations_projection",
            "Channel 5",
            Operation::ProjectStream(five),
        ),
        (
            "operations_memory",
            "MemoryRead",
            Operation::Query(Selection::Enrollments),
        ),
        (
            "operations_memory",
            "MemoryStream",
            Operation::Stream(Selection::Enrollments),
        ),
        (
            "operations_memory",
            "MemoryProjection",
            Operation::Project(five),
        ),
    ];
    let others = others.map(|(table, name, op)| (table, name, 1, op));
    appends.into_iter().chain(others).collect()
}
