//! ProjectionLimits: a store that lets 5 projections run at once, called by more than 5 callers.
//!
//! - **As in the seed**: the projection reads 1 of 100 events.
//! - **On the dataset**: the same, with the 100 events at the end of a log with the dataset.
//!
//! A call that is refused at the limit counts as a call. The number of refused calls depends on the
//! scheduler: a call that starts after another one has ended is admitted.

use crate::support::cells::{Access, Cell, Tables};
use crate::support::reader::{Reader, expect};
use crate::support::server::Servers;
use bench::{BoxError, Expect, Op, Outcome, Row, Target};
use course_enrollment::workload::{self, PAST_EVENTS};
use dcb_core::{Error, EventStore as _};

const LIMIT: usize = 5;
const CALLERS: [usize; 3] = [5, 8, 10];

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Read);
    for cell in tables.cells(&CALLERS, &[PAST_EVENTS]) {
        let (row, op) = projections(&cell);
        target.row(row, &op);
    }
    Ok(())
}

fn projections(cell: &Cell) -> (Row, Op) {
    let callers = cell.callers;
    // Above the limit the number of refusals depends on the scheduler. So no floor does the same work.
    let expected = if callers <= LIMIT {
        Expect::AllSucceed
    } else {
        Expect::Any
    };
    let row = cell
        .row("ProjectionLimits")
        .one_op(format!(
            "{callers} parallel projections of a course with one event among 100; the limit is \
             {LIMIT} at once; {}",
            cell.reading.read_text()
        ))
        .expect(expected)
        .fills("projection_limits_ms");
    let set_up = Reader::configured(&cell.log, |config| {
        config.max_concurrent_projections = LIMIT;
    });
    let op = set_up.call(|reader, _call| async move {
        let projector = workload::first_course_projector();
        match reader.store.events.project(&projector).await {
            Ok(projected) => {
                expect(projected.state, 1)?;
                Ok(Outcome::Success)
            }
            Err(Error::TooManyProjections { .. }) => Ok(Outcome::Refused),
            Err(error) => Err(error.into()),
        }
    });
    (row, op)
}
