//! The Go library's benchmarks as its first page of figures names them: append, read, project.
//!
//! - **As in the seed**: the log is empty before the row begins, so that reads and projections find
//!   nothing; events are small and alike.
//! - **On the dataset**: the dataset and 100 past events are there, events are those of the domain;
//!   the larger dataset a second time on SQLite, in a file that is flushed at every commit.

mod support;

use bench::pages::performance as page;
use bench::{BoxError, Row, TableId, Target};
use std::process::ExitCode;
use support::backend::SqliteLog;
use support::content::Content;
use support::operations::{Asked, Operation, Projectors};
use support::rows::{Reading, Size};
use support::server::Server;

/// The datasets of the page; its "small" is the other pages' medium.
const SIZES: [(&str, &str); 2] = [("Tiny", "Tiny"), ("Small", "Medium")];
/// The one that is repeated on SQLite.
const SQLITE_AT: &str = "Small";

fn main() -> ExitCode {
    bench::target("performance", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let local = Server::local(target)?;
    let of_tables = Size::of_tables(target.profile());
    for (label, table_label) in SIZES {
        let size = of_tables.iter().find(|size| size.label == table_label);
        let size = size.ok_or("a dataset of the page is none of the tables'")?;
        let empty = Reading::Seed.write_log(&local, *size);
        for line in lines(Operation::AppendTest, Operation::AppendTestIf) {
            let row = line
                .row(label)
                .one_op(format!("{}; the log was empty", line.op.text()));
            target.row(row.floor(&line.op.floor(&empty)), &line.op.on(&empty));
        }
        let (log, sqlite) = (
            size.log(&local),
            SqliteLog::new(Content::Dataset(size.dataset)),
        );
        for line in lines(Operation::Append, Operation::AppendIf) {
            let row = || line.row(label).on_the_dataset().one_op(line.op.text());
            target.row(row().floor(&line.op.floor(&log)), &line.op.on(&log));
            // One dataset stands for both there.
            if label == SQLITE_AT {
                target.row(row().variant("SQLite"), &line.op.on(&sqlite));
            }
        }
    }
    Ok(())
}

/// A line of the page's tables.
struct Line {
    table: TableId,
    name: &'static str,
    events: u64,
    op: Operation,
}

impl Line {
    fn row(&self, dataset: &str) -> Row {
        let row = Row::new(self.name, dataset);
        row.events(self.events).fills(self.table)
    }
}

fn lines(append: fn(usize) -> Operation, append_if: fn(usize) -> Operation) -> Vec<Line> {
    let line = |table, name, events: usize, op| Line {
        table,
        name,
        events: events as u64,
        op,
    };
    let appends = [1, 10, 100, 1_000].map(|n| line(page::APPEND, "Append", n, append(n)));
    let conditional = [10, 100].map(|n| line(page::APPEND, "AppendIf", n, append_if(n)));
    let read = |name, op| line(page::READ, name, 1, op);
    let projection = |name, op| line(page::PROJECTION, name, 1, op);
    let others = [
        read("Simple Read", Operation::Query(Asked::Simple)),
        read("Complex Queries", Operation::Query(Asked::Complex)),
        read("Channel Streaming", Operation::Channel(Asked::Simple)),
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
