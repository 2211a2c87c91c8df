//! AppendIf: the write path with a condition, checked under the log's lock.
//!
//! - **As in the seed**: the log is empty before the row begins. The condition of the rows "with
//!   conflict" asks for an id of the caller's own, not for that of the conflicting event, so that
//!   no call conflicts.
//! - **On the dataset**: the dataset and 100 past events are there; what should conflict does, and
//!   how many calls succeed is asserted for every op.
//! - **Another process in between**: before each append another process appends an event, so that
//!   the server looks up every condition. In all other rows the writer knows its own last events.
//! - **Boundaries**: conditions with `after` and without, on a log of 61,000 and of a million
//!   events, and conditions on a tag that over 100,000 events carry, measured against the same
//!   call on a tag that a few carry. Rows "in turn" have callers that do not wait for each other.
//!
//! A log grows while a row is measured. That of a million events is made once and grows from row to
//! row by what they append. Floors write by turns to logs of their own.

#[path = "append_if/boundaries.rs"]
mod boundaries;
#[path = "append_if/boundary.rs"]
mod boundary;
#[path = "append_if/conflicts.rs"]
mod conflicts;
mod support;

use bench::pages::local_postgresql as page;
use bench::{AsyncOp, BoxError, Floor, Goal, Op, Row, Target};
use dcb_core::EventStore as _;
use std::process::ExitCode;
use support::appender::{Appender, outcome};
use support::cells::{Access, Cell, Tables};
use support::floors;
use support::log::Log;
use support::rows::{self, CALLERS};

const EVENTS: [usize; 2] = [1, 10];

fn main() -> ExitCode {
    bench::target("append_if", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let tables = Tables::start(target, Access::Write)?;
    for cell in tables.cells(&CALLERS, &EVENTS) {
        let (row, op) = without_conflict(&cell);
        target.row(with_floor(row, &cell), &op);
    }
    for cell in tables.cells(&[1], &[1]) {
        if cell.size.has_goals() {
            let (row, op) = another_in_between(&cell);
            target.row(row, &op);
        }
    }
    conflicts::declare(target, &tables.local, &tables.sizes);
    boundaries::declare(target, &tables.local, &tables.sizes);
    tables.beside_docker(target, 1, without_conflict)
}

fn without_conflict(cell: &Cell) -> (Row, Op) {
    let events = cell.events;
    let row = cell.row("AppendIf").one_op(format!(
        "{} of {} {UNMET}; {}",
        cell.calls("append", "appends"),
        rows::events_text(events),
        cell.reading.write_text()
    ));
    (row, append_unless(Appender::renewing(&cell.log), events))
}

fn another_in_between(cell: &Cell) -> (Row, Op) {
    let row = cell
        .row("AppendIf")
        .variant(rows::ANOTHER_IN_BETWEEN)
        .one_op(format!(
            "1 append of {} {UNMET}, after another process has appended one; {}",
            rows::events_text(1),
            cell.reading.write_text()
        ))
        .fills(page::APPEND_IF_MS)
        .floor(&floors::insert_1(&cell.log));
    (row, append_unless(Appender::alternating(&cell.log), 1))
}

const UNMET: &str = "under the condition that none with the caller's own course id and the category \
                     is there, of whatever type, however old";

/// Appends so many events under that condition.
fn append_unless(set_up: AsyncOp<Appender>, events: usize) -> Op {
    set_up.call(move |appender, _call| async move {
        let (events, condition) = (appender.events(events), appender.workload.unmet_condition());
        outcome(appender.store.events.append_if(events, condition).await)
    })
}

fn with_floor(row: Row, cell: &Cell) -> Row {
    let floor = written(&cell.log, cell.callers, cell.events);
    let row = row
        .fills(page::APPEND_IF)
        .fills(page::APPEND_IF_MS)
        .floor(&floor);
    if (cell.callers, cell.events) != (1, 1) {
        return row;
    }
    let row = row.fills(page::COMPARISON);
    if !cell.size.has_goals() {
        return row;
    }
    let peer = "Go library 675-751 µs, and not race-free";
    row.goal(Goal::at_most_times(&floor, 1.4).peer(peer))
}

/// One statement that writes what the calls of an op write, without a condition.
fn written(log: &Log, callers: usize, events: usize) -> Floor {
    match (callers, events) {
        (1, 1) => floors::insert_1(log),
        (_, 1) => floors::courses(log, callers),
        _ => floors::batch(log, callers * events),
    }
}
