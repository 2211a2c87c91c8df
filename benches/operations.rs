//! The operations of the Go library's second page of figures, on its dataset of 61,000 events, and
//! what each index costs and gives.
//!
//! - **As in the seed**: the dataset is there and the log grows; appended events are small and
//!   alike. What the page's reads draw at random is fixed here.
//! - **On the dataset**: events are those of the domain; a second time on SQLite, in a file that is
//!   flushed at every commit.
//! - **Indexes**: the log's own tables with one index dropped, by the driver without the store,
//!   which works on whole tables alone.
//!
//! The memory of SQLite's own C code is not counted.

#[path = "operations/indexes.rs"]
mod indexes;
mod support;

use bench::pages::operations as page;
use bench::{BoxError, Row, TableId, Target};
use std::process::ExitCode;
use support::backend::SqliteLog;
use support::content::Content;
use support::operations::{Asked, Operation, Projectors};
use support::rows::Size;
use support::server::Server;

/// As the page names it; the other pages' medium.
const LABEL: &str = "Small";

fn main() -> ExitCode {
    bench::target("operations", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let local = Server::local(target)?;
    let sizes = Size::of_tables(target.profile());
    let size = sizes.iter().find(|size| size.has_goals());
    let size = *size.ok_or("the page's dataset is none of the tables'")?;
    let (log, sqlite) = (
        size.log(&local),
        SqliteLog::new(Content::Dataset(size.dataset)),
    );
    for (table, name, events, op) in lines(Operation::AppendTest) {
        let row = row(table, name, events).one_op(op.text());
        target.row(row.floor(&op.floor(&log)), &op.on(&log));
    }
    for (table, name, events, op) in lines(Operation::Append) {
        let row = || row(table, name, events).on_the_dataset().one_op(op.text());
        target.row(row().floor(&op.floor(&log)), &op.on(&log));
        target.row(row().variant("SQLite"), &op.on(&sqlite));
    }
    indexes::declare(target, &log)
}

fn row(table: TableId, name: &str, events: u64) -> Row {
    Row::new(name, LABEL).events(events).fills(table)
}

type Line = (TableId, &'static str, u64, Operation);

fn lines(append: fn(usize) -> Operation) -> Vec<Line> {
    let appends = [1, 10, 100, 1_000].map(|n| (page::APPEND, "Append", n as u64, append(n)));
    let (one, five) = (Projectors::One, Projectors::Five);
    let others = [
        (page::READ, "Simple Read", Operation::Query(Asked::Simple)),
        (page::READ, "Complex Read", Operation::Query(Asked::Complex)),
        (page::READ, "Stream Read", Operation::Stream(Asked::Simple)),
        (
            page::READ,
            "Stream Channel",
            Operation::Channel(Asked::Simple),
        ),
        (page::PROJECTION, "Projector 1", Operation::Project(one)),
        (page::PROJECTION, "Projector 5", Operation::Project(five)),
        (page::PROJECTION, "Channel 1", Operation::ProjectStream(one)),
        (
            page::PROJECTION,
            "Channel 5",
            Operation::ProjectStream(five),
        ),
        (
            page::MEMORY,
            "MemoryRead",
            Operation::Query(Asked::Enrollments),
        ),
        (
            page::MEMORY,
            "MemoryStream",
            Operation::Stream(Asked::Enrollments),
        ),
        (page::MEMORY, "MemoryProjection", Operation::Project(five)),
    ];
    let others = others.map(|(table, name, op)| (table, name, 1, op));
    appends.into_iter().chain(others).collect()
}
