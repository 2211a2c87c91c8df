//! QueryStream and ProjectStream: reads in constant memory, event by event.
//!
//! - **As in the seed**: QueryStream takes the first of 33 students and leaves the stream;
//!   ProjectStream takes in 100 events.
//! - **On the dataset**: QueryStream takes all 33. Both read the last 100 events of a log with the
//!   dataset.
//! - **50,000 events**: a stream over most of the log, with its memory in use.
//!
//! A stream fetches page after page: short ones are one round trip, long ones pay it once a page.

mod support;

use bench::pages::local_postgresql as page;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use course_enrollment::StudentRegistered;
use course_enrollment::workload::{self, PAST_EVENTS};
use dcb_core::{EventStore as _, Position, Query, ReadOptions};
use std::process::ExitCode;
use support::cells::{Access, Cell, Tables};
use support::floors;
use support::log::Log;
use support::raw_reads::Read;
use support::reader::{Reader, expect};
use support::rows::{CALLERS, Reading, Size};

/// Students of the major among the past events.
const FOUND: usize = 33;
const MAJOR_TAG: &str = "major:Computer Science";
/// Courses, students and enrollments among the past events.
const COUNTED: (u64, u64, u64) = (34, 33, 33);
const LONG: u64 = 50_000;
/// Far below the 15 MB that the events of a long stream take, whatever its length.
const LONG_PEAK_BYTES: f64 = 1_048_576.0;

fn main() -> ExitCode {
    bench::target("streams", declare)
}

fn declare(target: &mut Target) -> Result<(), BoxError> {
    let tables = Tables::start(target, Access::Read)?;
    let cells = tables.cells(&CALLERS, &[PAST_EVENTS]);
    for (row, op) in cells.iter().map(query_stream) {
        target.row(row.fills(page::READ_MS), &op);
    }
    for &size in tables.sizes.iter().filter(|size| size.has_goals()) {
        let (row, op) = long_stream(&size.log(&tables.local), size);
        target.row(row.fills(page::READ_MS), &op);
    }
    for (row, op) in cells.iter().map(project_stream) {
        target.row(row.fills(page::PROJECTION_MS), &op);
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
    let op = Reader::of(&cell.log).call(move |reader, _call| async move {
        let (query, events) = (workload::student_query(), &reader.store.events);
        let mut stream = events.query_stream(&query, reader.past()).await?;
        let mut seen = 0;
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
    let op = Reader::of(log).call(|reader, _call| async move {
        let events = &reader.store.events;
        let options = ReadOptions::new().limit(LONG);
        let mut stream = events.query_stream(&Query::all(), options).await?;
        let mut seen = 0;
        while let Some(event) = stream.next().await.transpose()? {
            std::hint::black_box(event);
            seen += 1;
        }
        expect(seen, LONG.min(Position::number_or_zero(stream.head())))?;
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
    let op = Reader::of(&cell.log).call(|reader, _call| async move {
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
