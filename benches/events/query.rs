//! Query: a bounded read in one statement that returns owned events.
//!
//! - **As in the seed**: 34 courses of a category in a log of 100 events.
//! - **On the dataset**: some rows read the same 34 courses, from the last 100 events of a log that
//!   begins with the dataset. Others read all courses of the category in that log.
//! - **No two alike**: 100 callers, each with a different limit of 34 or more. In the other rows
//!   all callers send the same query, like callers that decide about the same course.
//!
//! The server's cache is warm. At 100 callers the floor has the same number of connections as the
//! store. In the store, identical queries that wait for a connection run once, and up to 16 unlike
//! ones share a statement. The floor sends each query.

use crate::support::cells::{Access, Cell, Tables};
use crate::support::floors;
use crate::support::log::Log;
use crate::support::raw_reads::Read;
use crate::support::reader::{Reader, expect};
use crate::support::rows::CALLERS;
use crate::support::server::Servers;
use crate::support::size::Size;
use bench::{BoxError, Floor, Goal, Op, Outcome, Row, Target};
use course_enrollment::workload::{self, PAST_EVENTS};
use course_enrollment::{CourseOffered, Dataset};
use dcb_core::{EventStore as _, ReadOptions};

const CATEGORY_TAG: &str = "category:Computer Science";
/// Courses of the category among the past events.
const FOUND: usize = 34;
const MANY: usize = 100;
const COALESCED: &str =
    "; identical ones that wait for a connection run once; the floor sends each of them";
const ALL_THE_SAME: &str = ", all the same";
const NO_TWO_ALIKE: &str = "no two alike";

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Read);
    for cell in tables.cells(&CALLERS, &[PAST_EVENTS]) {
        let (row, op) = query(&cell);
        let row = row.fills("query").fills("read_ms");
        target.row(with_floors(row, &cell), &op);
    }
    for cell in tables.cells(&[MANY], &[PAST_EVENTS]) {
        if cell.size.has_goals() {
            let (row, op) = no_two_alike(&cell);
            target.row(row.fills("read_ms"), &op);
        }
    }
    for &size in &tables.sizes {
        let (row, op) = whole_category(&Log::of(&tables.local, size).as_read_only(), size);
        target.row(row, &op);
    }
    tables.beside_docker(target, servers, PAST_EVENTS, query);
    Ok(())
}

fn query(cell: &Cell) -> (Row, Op) {
    let row = cell.row("Query").one_op(format!(
        "{} of the {FOUND} courses of a category among 100 events{}; {}{}",
        cell.calls("query", "queries"),
        if cell.callers > 1 { ALL_THE_SAME } else { "" },
        cell.reading.read_text(),
        if cell.callers > 1 { COALESCED } else { "" }
    ));
    let op = Reader::on(&cell.log).call(|reader, _call| async move {
        let query = workload::course_query();
        let found = reader.store.events.query(&query, reader.past()).await?;
        expect(found.events.len(), FOUND)?;
        Ok(Outcome::Success)
    });
    (row, op)
}

fn no_two_alike(cell: &Cell) -> (Row, Op) {
    let row = cell.row("Query").variant(NO_TWO_ALIKE).one_op(format!(
        "{} of the {FOUND} courses of a category among 100 events, each with a different limit; {}",
        cell.calls("query", "queries"),
        cell.reading.read_text()
    ));
    let floor = fetched(cell);
    let row = row.floor(&floor).goal(Goal::at_most_times(&floor, 1.1));
    let op = Reader::on(&cell.log).call(|reader, call| async move {
        let query = workload::course_query();
        // The limits make the queries different. All limits are high enough for every event.
        let options = reader.past().limit(FOUND as u64 + call.worker as u64);
        let found = reader.store.events.query(&query, options).await?;
        expect(found.events.len(), FOUND)?;
        Ok(Outcome::Success)
    });
    (row, op)
}

fn with_floors(row: Row, cell: &Cell) -> Row {
    let floor = fetched(cell);
    let mut row = row.floor(&floor);
    if cell.is_compared() {
        row = row.fills("comparison");
    }
    match cell.callers {
        _ if !cell.size.has_goals() => row,
        1 => row
            .goal(Goal::at_most_times(&floor, 1.25).peer("Go library 298-378 µs"))
            .goal(Goal::allocations_above(&floor, 2.0 * FOUND as f64).peer("Go library 497")),
        _ => row.goal(Goal::calls_per_second(20_000.0).peer("Go library 5,600-8,200/s")),
    }
}

fn fetched(cell: &Cell) -> Floor {
    floors::fetched(&cell.log, tagged(PAST_EVENTS as i64), cell.callers)
}

fn whole_category(log: &Log, size: Size) -> (Row, Op) {
    let found = FOUND + courses_of_category(size.dataset);
    let row = Row::new("Query", size.label)
        .on_the_dataset()
        .variant("all of the log")
        .events(found as u64)
        .one_op(
            "1 query of all courses of a category in a log with the dataset and 100 past events",
        )
        .floor(&floors::fetched(log, tagged(i64::MAX), 1))
        .fills("read_ms");
    let op = Reader::on(log).call(move |reader, _call| async move {
        let query = workload::course_query();
        let all = reader
            .store
            .events
            .query(&query, ReadOptions::new())
            .await?;
        expect(all.events.len(), found)?;
        Ok(Outcome::Success)
    });
    (row, op)
}

/// Courses of the category in a dataset. The row's name contains the number, so it must be known
/// without loading the dataset. Each op checks it.
fn courses_of_category(dataset: Dataset) -> usize {
    match dataset {
        Dataset::Tiny => 0,
        Dataset::Small => 29,
        Dataset::Medium => 59,
        Dataset::Large => 655,
    }
}

/// The courses of the category among the last `last` events of the log.
fn tagged(last: i64) -> Read {
    Read::Tagged {
        event_type: CourseOffered::TYPE,
        tag: CATEGORY_TAG,
        last,
    }
}
