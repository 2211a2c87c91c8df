//! The floors by name: the same work on the same server, tables and kind of connection, with
//! prepared statements of the bare driver.

use super::log::Log;
use super::raw_reads::{self, Read};
use super::raw_writes;
use bench::Floor;
use dcb_core::postgres::Config;

/// Connections for single INSERTs. The rate is highest at about this number, which fits into
/// PostgreSQL's default of 100 connections.
const MOST_WRITERS: usize = 50;

/// One INSERT of one event.
pub(crate) fn insert_1(log: &Log) -> Floor {
    let what = "one INSERT of 1 such event, autocommit, one connection";
    Floor::new("insert_1", what, &raw_writes::single(log, 1))
}

/// Each caller makes one INSERT of one event.
pub(crate) fn inserts(log: &Log, callers: usize) -> Floor {
    let connections = callers.min(MOST_WRITERS);
    let what = format!(
        "{callers} INSERTs of 1 such event each, autocommit, over {connections} connections"
    );
    let op = raw_writes::single(log, connections);
    Floor::new(&format!("inserts_{callers}"), &what, &op).concurrency(callers)
}

/// One INSERT that writes one event for each caller.
pub(crate) fn courses(log: &Log, callers: usize) -> Floor {
    let what = format!("one INSERT of {callers} such events, autocommit, one connection");
    let op = raw_writes::courses(log, callers, 1);
    Floor::new(&format!("batch_{callers}"), &what, &op)
}

/// [`courses`], `turns` times in a row.
pub(crate) fn courses_in_turn(log: &Log, callers: usize, turns: usize) -> Floor {
    let what = format!("{turns} times one INSERT of {callers} such events, one after the other");
    let op = raw_writes::courses(log, callers, turns);
    Floor::new(&format!("{turns}_batches_{callers}"), &what, &op)
}

/// One INSERT of `events` events.
pub(crate) fn batch(log: &Log, events: usize) -> Floor {
    let what = format!("one INSERT of {events} such events, autocommit, one connection");
    let op = raw_writes::mixture(log, events);
    Floor::new(&format!("batch_{events}"), &what, &op)
}

/// The rows of a read, fetched by the same number of callers as the row has.
pub(crate) fn fetched(log: &Log, read: Read, callers: usize) -> Floor {
    let connections = callers.min(read_connections());
    let what = match callers {
        1 => "the same rows, fetched and dropped, one connection".to_owned(),
        _ => format!(
            "the same rows, fetched and dropped, {callers} callers over {connections} connections"
        ),
    };
    let op = raw_reads::fetched(log, read, connections);
    Floor::new("raw_read", &what, &op).concurrency(callers)
}

/// The read connections of a store with the default configuration.
fn read_connections() -> usize {
    Config::new("").read_connections as usize
}

/// The rows of a read, taken one by one.
pub(crate) fn streamed(log: &Log, read: Read) -> Floor {
    let what = "the same rows, dropped one by one as they arrive, one connection";
    Floor::new("raw_stream", what, &raw_reads::streamed(log, read))
}

/// All rows of a log with `events` events, taken one by one.
pub(crate) fn streamed_whole(log: &Log, events: u64) -> Floor {
    let what =
        format!("the log's {events} rows, dropped one by one as they arrive, one connection");
    let op = raw_reads::streamed(log, Read::First(events as i64));
    Floor::new("raw_stream", &what, &op)
}
