//! Append: the write path without a condition.
//!
//! - **As in the seed**: the log is empty before the row begins; neither the dataset nor past
//!   events play a part, and the rows of all datasets are the same op.
//! - **On the dataset**: the dataset and 100 past events are in the log before the row begins.
//! - **1,000 events**: the largest append that the default limits allow, in one commit.
//! - **In turn**: callers that append one event after the other. The other ops end with a barrier:
//!   most of them pay for a commit that the first caller makes alone.
//!
//! The log grows while a row is measured, and the row's floors write to the same tables by turns.
//! All of it is bound by fsync and by the tables' indexes: compare with the floors, not between
//! days.

mod support;

use bench::pages::local_postgresql as page;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use dcb_core::EventStore as _;
use std::process::ExitCode;
use support::appender::Appender;
use support::floors;
use support::log::Log;
use support::rows::{self, CALLERS, Reading, Size};
use support::server::Server;

const EVENTS: [usize; 2] = [1, 10];
const LARGEST: usize = 1_000;
const MANY: usize = 100;
/// Appends that each of many callers makes in an op of the rows "in turn".
const TURNS: usize = 10;
const PEER: &str = "Go library 6,000/s; single INSERTs over 50 connections 19,400/s";

fn main() -> ExitCode {
    bench::target("append", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let local = Server::local(target)?;
    let sizes = Size::of_tables(target.profile());
    for (reading, &size) in rows::product(Reading::BOTH, &sizes) {
        let log = reading.write_log(&local, size);
        for (callers, events) in rows::product(CALLERS, EVENTS) {
            let (row, op) = append(&log, reading, size, callers, events);
            let row = row.fills(page::APPEND).fills(page::APPEND_MS);
            let row = match (callers, events) {
                (1, 1) => row.fills(page::COMPARISON),
                _ => row,
            };
            target.row(with_floors(row, &log, size, callers, events), &op);
        }
        if size.has_goals() {
            for (row, op) in [largest(&log, reading, size), in_turn(&log, reading, size)] {
                target.row(row.fills(page::APPEND_MS), &op);
            }
        }
    }
    rows::beside_docker(target, &local, |server| {
        rows::product(Reading::BOTH, sizes.clone())
            .map(|(reading, size)| append(&reading.write_log(server, size), reading, size, 1, 1))
            .collect()
    })
}

fn append(log: &Log, reading: Reading, size: Size, callers: usize, events: usize) -> (Row, Op) {
    let row = Row::new("Append", size.label)
        .concurrency(callers)
        .events(events as u64)
        .one_op(format!(
            "{} of {}, {}",
            rows::calls(callers, "append", "appends"),
            rows::events_text(events),
            reading.write_text()
        ));
    let op = Appender::renewing(log).call(move |appender, _call| async move {
        let events = appender.events(events);
        std::hint::black_box(appender.store.events.append(events).await?);
        Ok(Outcome::Success)
    });
    (reading.of(row), op)
}

fn largest(log: &Log, reading: Reading, size: Size) -> (Row, Op) {
    let (row, op) = append(log, reading, size, 1, LARGEST);
    let floor = floors::batch(log, LARGEST);
    let goal = Goal::share_of(&floor, 0.9).peer("Go library 44/s on its machine");
    (row.floor(&floor).goal(goal), op)
}

fn in_turn(log: &Log, reading: Reading, size: Size) -> (Row, Op) {
    let floor = floors::courses_in_turn(log, MANY, TURNS);
    let row = Row::new("Append", size.label)
        .variant(rows::turns_variant(TURNS))
        .concurrency(MANY)
        .events(TURNS as u64)
        .one_op(format!(
            "{} of {}, {}",
            rows::calls_in_turn(MANY, TURNS, "append", "appends"),
            rows::events_text(1),
            reading.write_text()
        ))
        .floor(&floor)
        .goal(Goal::share_of(&floor, 0.9).peer(PEER));
    let op = Appender::renewing(log).call(|appender, _call| async move {
        for _ in 0..TURNS {
            let course = appender.workload.course();
            std::hint::black_box(appender.store.events.append(course).await?);
        }
        Ok(Outcome::Success)
    });
    (reading.of(row), op)
}

/// The floors that write what an op of the row writes, the first one in one statement.
fn with_floors(row: Row, log: &Log, size: Size, callers: usize, events: usize) -> Row {
    let goal = |row: Row, goal: Goal, peer: &str| {
        if size.has_goals() {
            row.goal(goal.peer(peer))
        } else {
            row
        }
    };
    match (callers, events) {
        (1, 1) => {
            let floor = floors::insert_1(log);
            let row = row.floor(&floor).floor(&floors::select_1(log));
            goal(
                row,
                Goal::at_most_times(&floor, 1.25),
                "Go library 424-518 µs",
            )
        }
        (_, 1) => {
            let floor = floors::courses(log, callers);
            let row = row.floor(&floor).floor(&floors::inserts(log, callers));
            goal(row, Goal::share_of(&floor, 0.9), PEER)
        }
        _ => row.floor(&floors::batch(log, callers * events)),
    }
}
