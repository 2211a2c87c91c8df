//! AppendIf: the write path with a condition, checked under the log's lock.
//!
//! - **As in the seed**: the log is empty before the row begins. The condition of the rows "with
//!   conflict" asks for an id of the caller's own, not for that of the conflicting event, so that
//!   no call conflicts.
//! - **On the dataset**: the dataset and 100 past events are there; what should conflict does, and
//!   how many calls succeed is asserted for every op.
//! - **Boundaries**: conditions with `after` and without, on a log of 61,000 and of a million
//!   events, and conditions on a tag that over 100,000 events carry, measured against the same
//!   call on a tag that a few carry. Rows "in turn" have callers that do not wait for each other.
//!
//! A log grows while a row is measured. That of a million events is made once and grows from row to
//! row by what they append. Rows and their floors write to the same tables by turns.

#[path = "append_if/boundaries.rs"]
mod boundaries;
#[path = "append_if/boundary.rs"]
mod boundary;
#[path = "append_if/conflicts.rs"]
mod conflicts;
mod support;

use bench::pages::local_postgresql as page;
use bench::{BoxError, Floor, Goal, Op, Row, Target};
use dcb_core::EventStore as _;
use std::process::ExitCode;
use support::appender::{Appender, outcome};
use support::floors;
use support::log::Log;
use support::rows::{self, CALLERS, Reading, Size};
use support::server::Server;

const EVENTS: [usize; 2] = [1, 10];

fn main() -> ExitCode {
    bench::target("append_if", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let local = Server::local(target)?;
    let sizes = Size::of_tables(target.profile());
    for (reading, &size) in rows::product(Reading::BOTH, &sizes) {
        let log = reading.write_log(&local, size);
        for (callers, events) in rows::product(CALLERS, EVENTS) {
            let (row, op) = without_conflict(&log, reading, size, callers, events);
            let floor = written(&log, callers, events);
            let mut row = row
                .fills(page::APPEND_IF)
                .fills(page::APPEND_IF_MS)
                .floor(&floor);
            if (callers, events) == (1, 1) {
                row = row.fills(page::COMPARISON);
                if size.has_goals() {
                    let peer = "Go library 675-751 µs, and not race-free";
                    row = row.goal(Goal::at_most_times(&floor, 1.4).peer(peer));
                }
            }
            target.row(row, &op);
        }
    }
    conflicts::declare(target, &local, &sizes);
    boundaries::declare(target, &local, &sizes);
    rows::beside_docker(target, &local, |server| {
        let one_caller = |(reading, size): (Reading, Size)| {
            without_conflict(&reading.write_log(server, size), reading, size, 1, 1)
        };
        rows::product(Reading::BOTH, sizes.clone())
            .map(one_caller)
            .collect()
    })
}

fn without_conflict(
    log: &Log,
    reading: Reading,
    size: Size,
    callers: usize,
    events: usize,
) -> (Row, Op) {
    let row = Row::new("AppendIf", size.label)
        .concurrency(callers)
        .events(events as u64)
        .one_op(format!(
            "{} of {} that {}; {}",
            rows::calls(callers, "append", "appends"),
            rows::events_text(events),
            "none with the caller's own course id and the category is there, of whatever type, \
             however old",
            reading.write_text()
        ));
    let op = Appender::renewing(log).call(move |appender, _call| async move {
        let (events, condition) = (appender.events(events), appender.workload.unmet_condition());
        outcome(appender.store.events.append_if(events, condition).await)
    });
    (reading.of(row), op)
}

/// One statement that writes what the calls of an op write, without a condition.
fn written(log: &Log, callers: usize, events: usize) -> Floor {
    match (callers, events) {
        (1, 1) => floors::insert_1(log),
        (_, 1) => floors::courses(log, callers),
        _ => floors::batch(log, callers * events),
    }
}
