//! Project: 3 projectors folded over 100 events in one pass of one read.
//!
//! - **As in the seed**: the log holds only these 100 events.
//! - **On the dataset**: they are the last events of a log with the dataset, and the read starts at
//!   the first of them.
//!
//! The floor is a hand-written statement for the same 100 rows and the same conditions: it scans by
//! position and checks type and tag. The server's cache is warm. At 100 callers the floor has the
//! same number of connections as the store.

use crate::support::cells::{Access, Cell, Tables};
use crate::support::floors;
use crate::support::raw_reads::Read;
use crate::support::reader::{Reader, expect};
use crate::support::rows::CALLERS;
use crate::support::server::Servers;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use course_enrollment::workload::{self, PAST_EVENTS};
use dcb_core::EventStore as _;

/// Courses, students and enrollments among the past events.
const COUNTED: (u64, u64, u64) = (34, 33, 33);

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Read);
    for cell in tables.cells(&CALLERS, &[PAST_EVENTS]) {
        let (row, op) = project(&cell);
        let row = row.fills("project").fills("projection_ms");
        target.row(with_floor(row, &cell), &op);
    }
    tables.beside_docker(target, servers, PAST_EVENTS, project);
    Ok(())
}

fn project(cell: &Cell) -> (Row, Op) {
    let row = cell.row("Project").one_op(format!(
        "{} of 3 projectors over 100 events; {}",
        cell.calls("projection", "projections"),
        cell.reading.read_text()
    ));
    let op = Reader::on(&cell.log).call(|reader, _call| async move {
        let (projectors, events) = (workload::projectors(), &reader.store.events);
        let projected = match reader.after {
            // `project` always starts at the beginning of the log.
            None => events.project(&projectors).await?,
            after => {
                events
                    .project_stream(&projectors, after)
                    .await?
                    .finish()
                    .await?
            }
        };
        expect(projected.state, COUNTED)?;
        std::hint::black_box(projected.condition);
        Ok(Outcome::Success)
    });
    (row, op)
}

fn with_floor(row: Row, cell: &Cell) -> Row {
    let floor = floors::fetched(&cell.log, Read::Projected(PAST_EVENTS as i64), cell.callers);
    let row = row.floor(&floor);
    if !cell.is_compared() {
        return row;
    }
    let row = row.fills("comparison");
    if !cell.size.has_goals() {
        return row;
    }
    row.goal(Goal::at_most_times(&floor, 1.3).peer("Go library 470 µs"))
        .goal(Goal::allocations_above(&floor, 2.0 * PAST_EVENTS as f64).peer("Go library 1,486"))
}
