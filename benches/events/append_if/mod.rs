//! AppendIf: the write path with a condition, checked under the log's lock.
//!
//! - **As in the seed**: the log is empty before the row begins. In the rows "with conflict" no
//!   call conflicts, because the published condition names the caller's id instead of the
//!   conflicting event's.
//! - **On the dataset**: the log holds the dataset and 100 past events. The rows "with conflict"
//!   conflict, and every op asserts how many calls succeed.
//! - **Another process in between**: another process appends an event before each append, so the
//!   server has to look up every condition. In all other rows the writer knows its last events.
//! - **Boundaries**: conditions with and without `after`, on logs of 61,000 and a million events.
//!   Conditions on a hot tag, which over 100,000 events carry, are measured against the same call
//!   on a tag that few events carry. In the rows "in turn" the callers do not wait for each other.
//!
//! A log grows while a row is measured. The log of a million events is made once and grows from row
//! to row. Floors take turns with the row and write to separate logs.

mod boundaries;
mod boundary;
mod conflicts;
use crate::support::appender::{Appender, outcome};
use crate::support::cells::{Access, Cell, Tables};
use crate::support::floors;
use crate::support::log::Log;
use crate::support::rows::{self, CALLERS};
use crate::support::server::Servers;
use bench::{AsyncOp, BoxError, Floor, Goal, Op, Row, Target};
use dcb_core::EventStore as _;

const EVENTS: [usize; 2] = [1, 10];

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Write);
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
    tables.beside_docker(target, servers, 1, without_conflict);
    Ok(())
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
        .fills("append_if_ms")
        .floor(&floors::insert_1(&cell.log));
    (row, append_unless(Appender::alternating(&cell.log), 1))
}

const UNMET: &str = "under the condition that the log has no event, of any type and age, with the \
                     caller's course id and the category";

/// Appends `events` events under the condition [`UNMET`].
fn append_unless(set_up: AsyncOp<Appender>, events: usize) -> Op {
    set_up.call(move |appender, _call| async move {
        let (events, condition) = (appender.events(events), appender.workload.unmet_condition());
        outcome(appender.store.events.append_if(events, condition).await)
    })
}

fn with_floor(row: Row, cell: &Cell) -> Row {
    let floor = written(&cell.log, cell.callers, cell.events);
    let row = row.fills("append_if").fills("append_if_ms").floor(&floor);
    // The comparison between servers has one caller and one event.
    if (cell.callers, cell.events) != (1, 1) {
        return row;
    }
    let row = row.fills("comparison");
    if !cell.size.has_goals() {
        return row;
    }
    let peer = "Go library 675-751 µs, and not race-free";
    row.goal(Goal::at_most_times(&floor, 1.4).peer(peer))
}

/// One statement that writes the events of a whole op, without a condition.
fn written(log: &Log, callers: usize, events: usize) -> Floor {
    match (callers, events) {
        (1, 1) => floors::insert_1(log),
        (_, 1) => floors::courses(log, callers),
        _ => floors::batch(log, callers * events),
    }
}
