//! Append: the write path without a condition.
//!
//! - **As in the seed**: the log is empty before the row begins. The dataset and the past events
//!   play no part, so the rows of all datasets run the same op.
//! - **On the dataset**: the log holds the dataset and 100 past events before the row begins.
//! - **1,000 events**: the largest append that the default limits allow, in one commit.
//! - **Another process in between**: another process appends an event before each append, so the
//!   writer never knows where the log ends. In all other rows the writer is alone and knows the
//!   end.
//! - **In turn**: each caller appends several events, one after the other. In all other rows each
//!   caller makes one append per op, so the op also pays for waking 100 tasks and for waiting until
//!   the last one is answered.
//!
//! The log grows while a row is measured. The row's floors take turns with the row, and write to a
//! log with the same content. fsync and index maintenance take most of the time of all these rows,
//! and both vary from day to day. So compare a row with its floors, not with another day's figures.

use crate::support::appender::Appender;
use crate::support::cells::{Access, Cell, Tables};
use crate::support::floors;
use crate::support::rows::{self, CALLERS};
use crate::support::server::Servers;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use dcb_core::EventStore as _;

const EVENTS: [usize; 2] = [1, 10];
const LARGEST: usize = 1_000;
const MANY: usize = 100;
/// Appends per caller in one op of the rows "in turn".
const TURNS: usize = 10;
const PEER: &str = "Go library 6,000/s; single INSERTs over 50 connections 19,400/s";

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Write);
    for cell in tables.cells(&CALLERS, &EVENTS) {
        let (row, op) = append(&cell);
        let row = row.fills("append").fills("append_ms");
        target.row(with_floors(row, &cell), &op);
    }
    // Each of these rows is about one case, so one dataset is enough.
    let others = [
        (
            tables.cells(&[1], &[LARGEST]),
            largest as fn(&Cell) -> (Row, Op),
        ),
        (tables.cells(&[1], &[1]), another_in_between),
        (tables.cells(&[MANY], &[TURNS]), in_turn),
    ];
    for (cells, row) in others {
        for (row, op) in cells.iter().filter(|cell| cell.size.has_goals()).map(row) {
            target.row(row.fills("append_ms"), &op);
        }
    }
    tables.beside_docker(target, servers, 1, append);
    Ok(())
}

fn append(cell: &Cell) -> (Row, Op) {
    let events = cell.events;
    let row = cell.row("Append").one_op(format!(
        "{} of {}, {}",
        cell.calls("append", "appends"),
        rows::events_text(events),
        cell.reading.write_text()
    ));
    let op = Appender::renewing(&cell.log).call(move |appender, _call| async move {
        let events = appender.events(events);
        std::hint::black_box(appender.store.events.append(events).await?);
        Ok(Outcome::Success)
    });
    (row, op)
}

fn largest(cell: &Cell) -> (Row, Op) {
    let (row, op) = append(cell);
    let floor = floors::batch(&cell.log, LARGEST);
    let goal = Goal::share_of(&floor, 0.9).peer("Go library 44/s on its machine");
    (row.floor(&floor).goal(goal), op)
}

fn another_in_between(cell: &Cell) -> (Row, Op) {
    let row = cell
        .row("Append")
        .variant(rows::ANOTHER_IN_BETWEEN)
        .one_op(format!(
            "1 append of {} after another process has appended one, {}",
            rows::events_text(1),
            cell.reading.write_text()
        ))
        .floor(&floors::insert_1(&cell.log));
    let op = Appender::alternating(&cell.log).call(|appender, _call| async move {
        let course = appender.workload.course();
        std::hint::black_box(appender.store.events.append(course).await?);
        Ok(Outcome::Success)
    });
    (row, op)
}

fn in_turn(cell: &Cell) -> (Row, Op) {
    let floor = floors::courses_in_turn(&cell.log, MANY, TURNS);
    let row = cell
        .row("Append")
        .variant(rows::turns_variant(TURNS))
        .one_op(format!(
            "{} of {}, {}",
            rows::calls_in_turn(MANY, TURNS, "append", "appends"),
            rows::events_text(1),
            cell.reading.write_text()
        ))
        .floor(&floor)
        .goal(Goal::share_of(&floor, 0.9).peer(PEER));
    let op = Appender::renewing(&cell.log).call(|appender, _call| async move {
        for _ in 0..TURNS {
            let course = appender.workload.course();
            std::hint::black_box(appender.store.events.append(course).await?);
        }
        Ok(Outcome::Success)
    });
    (row, op)
}

/// Adds the floors. The first floor writes the events of an op in one statement.
fn with_floors(row: Row, cell: &Cell) -> Row {
    let log = &cell.log;
    let goal = |row: Row, goal: Goal, peer: &str| {
        if cell.size.has_goals() {
            row.goal(goal.peer(peer))
        } else {
            row
        }
    };
    match (cell.callers, cell.events) {
        (1, 1) => {
            let floor = floors::insert_1(log);
            let row = row.floor(&floor).fills("comparison");
            goal(
                row,
                Goal::at_most_times(&floor, 1.25),
                "Go library 424-518 µs",
            )
        }
        (callers, 1) => {
            let floor = floors::courses(log, callers);
            let row = row.floor(&floor).floor(&floors::inserts(log, callers));
            goal(row, Goal::share_of(&floor, 0.9), PEER)
        }
        (callers, events) => row.floor(&floors::batch(log, callers * events)),
    }
}
