//! SQLite: the event store embedded in the process, next to hand-written loops on the same schema.
//!
//! - **AppendIf**: one event under a condition that holds, into a log that was empty before the
//!   row. In memory the row measures the work alone; in a file (WAL, FULL) it also measures one
//!   fsync per commit. In the rows "in turn" each caller appends one event after the other, and
//!   callers share commits.
//! - **AppendIf, sustained** (`sustained.rs`): callers that append without a barrier, for seconds.
//! - **Query**, **Project**: 34 of 100 events, and 3 projectors over all of them in one pass.
//!
//! A floor steps prepared statements on a separate connection and copies each row into owned
//! values, as a hand-written loop would. It writes the keys of an event's tags together with the
//! event, whereas the store first keeps new keys in memory (see `schema/README.md`). Only
//! allocations of Rust code are counted; neither the row's nor the floor's figures contain SQLite's
//! heap. Compare a row that waits for fsync with its floor, not with another day's figures.

mod embedded;
mod raw;
mod sustained;

use bench::{BoxError, Floor, Goal, Op, Outcome, Row, Target};
use course_enrollment::workload::{self, PAST_EVENTS};
use dcb_core::ReadOptions;
use embedded::{Embedded, Storage, expect};
use std::hint::black_box;

const EMPTY: &str = "Empty log";
const PAST: &str = "100 events";
const MANY: usize = 100;
/// Appends per caller in one op of the rows "in turn".
const TURNS: usize = 10;
/// Courses of the category among the past events.
const FOUND: usize = 34;
const PEER: &str = "tephra, a separate engine: 9,200/s and 125,000/s";

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    let facts = target.facts();
    facts.set("SQLite", rusqlite::version());
    facts.set(
        "Durability",
        "files: WAL, synchronous=FULL, one fsync a commit, in the folder for temporary files; \
         memory: none",
    );
    for storage in [Storage::Memory, Storage::File] {
        let (row, op) = append_if(storage);
        target.row(row.fills("sqlite_append"), &op);
    }
    for (row, op) in [alone_async(), in_turn(), in_turn_async()] {
        target.row(row.fills("sqlite_append"), &op);
    }
    sustained::declare(target);
    for storage in [Storage::Memory, Storage::File] {
        for (row, op) in [query(storage), project(storage)] {
            target.row(row.fills("sqlite_read").steady(), &op);
        }
    }
    Ok(())
}

fn append_if(storage: Storage) -> (Row, Op) {
    let (name, times) = match storage {
        // Without an fsync the overhead of the store is a larger share of an append.
        Storage::Memory => ("raw_append_memory", 1.5),
        Storage::File => ("raw_append_file", 1.15),
    };
    let what = "BEGIN IMMEDIATE, the head, a descent for each tag, the INSERTs, COMMIT, by hand";
    let floor = Floor::new(name, what, &raw::append_if(storage));
    let row = Row::new("AppendIf", EMPTY)
        .variant(storage.blocking())
        .one_op("1 append of 1 event under a condition on 2 tags")
        .floor(&floor)
        .goal(Goal::at_most_times(&floor, times).peer(PEER));
    let op = Op::blocking(move || Embedded::empty(storage)).call(|embedded, _call| {
        embedded.append_if()?;
        Ok(Outcome::Success)
    });
    (row, op)
}

fn in_turn() -> (Row, Op) {
    let floor = Floor::new(
        &format!("raw_{TURNS}_batches_of_{MANY}"),
        &format!("{TURNS} transactions of {MANY} such appends, by hand, one thread"),
        &raw::append_if_in_batches(TURNS, MANY),
    );
    let row = Row::new("AppendIf", EMPTY)
        .variant(format!("{}, in turn", Storage::File.blocking()))
        .concurrency(MANY)
        .events(TURNS as u64)
        .one_op("100 threads that make 10 such appends each, one after the other")
        .floor(&floor)
        .goal(many_callers());
    let op = Op::blocking(|| Embedded::empty(Storage::File)).call(|embedded, _call| {
        for _ in 0..TURNS {
            embedded.append_if()?;
        }
        Ok(Outcome::Success)
    });
    (row, op)
}

/// The goal for rows with many callers: 60,000 appends a second.
fn many_callers() -> Goal {
    Goal::calls_per_second(60_000.0 / TURNS as f64).peer(PEER)
}

fn alone_async() -> (Row, Op) {
    let row = Row::new("AppendIf", EMPTY)
        .variant(Storage::File.asynchronous())
        .one_op(
            "1 append of 1 event under a condition on 2 tags: a hop to another thread and back",
        );
    (row, async_appends(1))
}

fn in_turn_async() -> (Row, Op) {
    let row = Row::new("AppendIf", EMPTY)
        .variant(format!("{}, in turn", Storage::File.asynchronous()))
        .concurrency(MANY)
        .events(TURNS as u64)
        .one_op("100 tasks that make 10 such appends each, one after the other")
        .goal(many_callers());
    (row, async_appends(TURNS))
}

fn async_appends(turns: usize) -> Op {
    let op = Op::setup(|| async { Embedded::empty_async().await });
    op.call(move |embedded, _call| async move {
        for _ in 0..turns {
            embedded.append_if_async().await?;
        }
        Ok(Outcome::Success)
    })
}

fn query(storage: Storage) -> (Row, Op) {
    let name = format!("raw_query_{}", storage.name());
    let what = "the same rows by the same index, each column copied into an owned value";
    let floor = Floor::new(&name, what, &raw::query(storage, FOUND));
    let row = Row::new("Query", PAST)
        .variant(storage.blocking())
        .events(PAST_EVENTS as u64)
        .one_op("1 query of the 34 courses of a category among 100 events");
    let op = Op::blocking(move || Embedded::past(storage)).call(|embedded, _call| {
        let found = embedded
            .store
            .query(&workload::course_query(), ReadOptions::new())?;
        expect(found.events.len(), FOUND)?;
        black_box(found);
        Ok(Outcome::Success)
    });
    (with_goals(row, &floor, FOUND), op)
}

fn project(storage: Storage) -> (Row, Op) {
    let name = format!("raw_scan_{}", storage.name());
    let what = "the same rows by position, each column copied into an owned value";
    let floor = Floor::new(&name, what, &raw::scan(storage, PAST_EVENTS));
    let row = Row::new("Project", PAST)
        .variant(storage.blocking())
        .events(PAST_EVENTS as u64)
        .one_op("1 projection of 3 projectors over 100 events, found by type and tag");
    let op = Op::blocking(move || Embedded::past(storage)).call(|embedded, _call| {
        let projected = embedded.store.project(&workload::projectors())?;
        expect(projected.state, (34, 33, 33))?;
        black_box(projected.condition);
        Ok(Outcome::Success)
    });
    (with_goals(row, &floor, PAST_EVENTS), op)
}

fn with_goals(row: Row, floor: &Floor, events: usize) -> Row {
    row.floor(floor)
        .goal(Goal::at_most_times(floor, 1.3))
        .goal(Goal::allocations_above(floor, 2.0 * events as f64))
}
