//! QueryStream and ProjectStream: reads in constant memory, event by event.
//!
//! - **As in the seed**: QueryStream takes the first of 33 students and drops the stream;
//!   ProjectStream folds 100 events.
//! - **On the dataset**: QueryStream takes all 33. Both read the last 100 events of a log with the
//!   dataset.
//! - **50,000 events**: a stream over most of the log, and the memory that it uses.
//!
//! A stream fetches one page at a time, with one round trip per page. A short stream is one page.

use crate::support::cells::{Access, Cell, Tables};
use crate::support::floors;
use crate::support::log::Log;
use crate::support::raw_reads::Read;
use crate::support::reader::{Reader, expect};
use crate::support::rows::{CALLERS, Reading};
use crate::support::server::Servers;
use crate::support::size::Size;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use course_enrollment::StudentRegistered;
use course_enrollment::workload::{self, PAST_EVENTS};
use dcb_core::{Bookmark, EventStore as _, Position, Query, ReadOptions};

/// Students of the major among the past events.
const FOUND: usize = 33;
const MAJOR_TAG: &str = "major:Computer Science";
/// Courses, students and enrollments among the past events.
const COUNTED: (u64, u64, u64) = (34, 33, 33);
const LONG: u64 = 50_000;
/// A stream of any length holds one page in memory: far less than the 15 MB of all its events.
const LONG_PEAK_BYTES: f64 = 1_048_576.0;

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let tables = Tables::new(target, servers, Access::Read);
    let cells = tables.cells(&CALLERS, &[PAST_EVENTS]);
    for (row, op) in cells.iter().map(query_stream) {
        target.row(row.fills("read_ms"), &op);
    }
    for &size in tables.sizes.iter().filter(|size| size.has_goals()) {
        let (row, op) = long_stream(&Log::of(&tables.local, size).as_read_only(), size);
        target.row(row.fills("read_ms"), &op);
    }
    for (row, op) in cells.iter().map(project_stream) {
        target.row(row.fills("projection_ms"), &op);
    }
    Ok(())
}

fn query_stream(cell: &Cell) -> (Row, Op) {
    let reading = cell.reading;
    let (taken, text) = match reading {
        Reading::Seed => (1, "the first"),
        Reading::Dataset => (FOUND, "all"),
    };
    let read = Read::Tagged {
        event_type: StudentRegistered::TYPE,
        tag: MAJOR_TAG,
        last: PAST_EVENTS as i64,
    };
    let row = cell
        .row("QueryStream")
        .one_op(format!(
            "{} of the {FOUND} students of a major among 100 events, {text} of them taken; {}",
            cell.calls("stream", "streams"),
            reading.read_text()
        ))
        .floor(&floors::fetched(&cell.log, read, cell.callers));
    let op = Reader::on(&cell.log).call(move |reader, _call| async move {
        let (query, events) = (workload::student_query(), &reader.store.events);
        let mut stream = events.query_stream(&query, reader.past()).await?;
        let mut seen = 0;
        // On the dataset the stream is read to its end, as the heading of the row says.
        while seen < taken || reading == Reading::Dataset {
            let Some(event) = stream.next().await.transpose()? else {
                break;
            };
            std::hint::black_box(event);
            seen += 1;
        }
        expect(seen, taken)?;
        Ok(Outcome::Success)
    });
    (row, op)
}

fn long_stream(log: &Log, size: Size) -> (Row, Op) {
    let floor = floors::streamed(log, Read::First(LONG as i64));
    let row = Row::new("QueryStream", size.label)
        .on_the_dataset()
        .events(LONG)
        .one_op("1 stream of the first 50,000 events of a log with the dataset, all of them taken")
        .floor(&floor)
        .goal(Goal::at_most_times(&floor, 1.2).peer("Go library 92 ms on its machine"))
        .goal(Goal::peak_bytes(LONG_PEAK_BYTES).peer("Go library 99 MB, 1.1 M allocations"));
    let op = Reader::on(log).call(|reader, _call| async move {
        let events = &reader.store.events;
        let options = ReadOptions::new().limit(LONG);
        let mut stream = events.query_stream(&Query::all(), options).await?;
        let mut seen = 0;
        while let Some(event) = stream.next().await.transpose()? {
            std::hint::black_box(event);
            seen += 1;
        }
        let head = Bookmark::position_of(stream.head());
        expect(seen, LONG.min(Position::number_or_zero(head)))?;
        Ok(Outcome::Success)
    });
    (row, op)
}

fn project_stream(cell: &Cell) -> (Row, Op) {
    let read = Read::Projected(PAST_EVENTS as i64);
    let row = cell
        .row("ProjectStream")
        .one_op(format!(
            "{} of 3 projectors over 100 events, each state seen; {}",
            cell.calls("projection", "projections"),
            cell.reading.read_text()
        ))
        .floor(&floors::fetched(&cell.log, read, cell.callers));
    let op = Reader::on(&cell.log).call(|reader, _call| async move {
        let (projectors, events) = (workload::projectors(), &reader.store.events);
        let mut stream = events.project_stream(&projectors, reader.after).await?;
        while let Some(state_and_event) = stream.next().await.transpose()? {
            std::hint::black_box(state_and_event);
        }
        expect(stream.finish().await?.state, COUNTED)?;
        Ok(Outcome::Success)
    });
    (row, op)
}
