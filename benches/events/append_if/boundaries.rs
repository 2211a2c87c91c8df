//! Conditions with and without `after`, on hot and cold tags, in logs of 61,000 and a million
//! events.

use super::boundary::{Boundary, COLD, HOT, OWN_ALL, OWN_NEAR};
use crate::support::appender::Appender;
use crate::support::floors;
use crate::support::log::Log;
use crate::support::million;
use crate::support::rows::Reading;
use crate::support::server::Server;
use crate::support::size::Size;
use bench::{Floor, Goal, Row, Target};
use std::sync::Arc;
use std::time::Duration;

const CALLERS: usize = 100;
/// Appends per caller in one op. With one, as in the tables, the callers wait for each other after
/// each append. With ten they rarely wait, so the row shows their rate.
const TURNS: [usize; 2] = [1, 10];
const PEER: &str = "Go library 2,400/s; UmaDB 19,152/s";
const PEER_ONE: &str = "Go library 675-751 µs, and not race-free";
const PEER_NO_AFTER: &str = "a textbook function 6/s";
const PEER_HOT: &str = "counting matches 10-15 ms each, a naive join of tags 130-168 ms";

pub(crate) fn declare(target: &mut Target, local: &Arc<Server>, sizes: &[Size]) {
    for size in sizes.iter().filter(|size| size.has_goals()) {
        let log = Log::of(local, *size);
        let text = Reading::Dataset.write_text();
        for turns in TURNS {
            let op = OWN_NEAR.op(Appender::renewing(&log), log.content(), turns);
            let row = OWN_NEAR.row(size.label, CALLERS, turns, text);
            target.row(against_batches(row, &log, turns), &op);
        }
    }
    let million = Log::new(local, million::content(target.profile()));
    target.facts().set("Dataset Million", million::TEXT);
    on_a_million(target, &million);
}

fn on_a_million(target: &mut Target, log: &Log) {
    let op_on = |log: &Log, boundary: Boundary, turns| {
        boundary.op(Appender::growing(log), log.content(), turns)
    };
    let op = |boundary, turns| op_on(log, boundary, turns);
    let beside = |name: &str, what: &str, boundary| {
        let op = op_on(&log.beside(), boundary, 1);
        Floor::new(name, what, &op).concurrency(CALLERS)
    };
    let row = |boundary: Boundary, callers, turns| {
        boundary.row(
            million::LABEL,
            callers,
            turns,
            "into the log of a million events",
        )
    };

    let single = floors::insert_1(log);
    let goal = Goal::at_most_times(&single, 1.4).peer(PEER_ONE);
    target.row(
        row(OWN_NEAR, 1, 1).floor(&single).goal(goal),
        &op(OWN_NEAR, 1),
    );
    for turns in TURNS {
        let row = against_batches(row(OWN_NEAR, CALLERS, turns), log, turns);
        target.row(row, &op(OWN_NEAR, turns));
    }

    // The floor is the same call with `after`. So the ratio shows the extra cost of a condition
    // that has no `after`.
    let near = beside("with_after", "the same with after", OWN_NEAR);
    let goal = Goal::at_most_times(&near, 1.3).peer(PEER_NO_AFTER);
    target.row(
        row(OWN_ALL, CALLERS, 1).floor(&near).goal(goal),
        &op(OWN_ALL, 1),
    );

    let floor = floors::courses(log, CALLERS);
    target.row(row(COLD, CALLERS, 1).floor(&floor), &op(COLD, 1));
    // A hot tag must not cost more than a cold one, so the same call on a cold tag is the floor.
    let cold = beside("cold_tag", "the same with a cold tag", COLD);
    for boundary in HOT {
        let goal = Goal::at_most_times(&cold, 1.5).peer(PEER_HOT);
        let row = row(boundary, CALLERS, 1).floor(&cold).goal(goal);
        target.row(row, &op(boundary, 1));
    }
}

/// Adds the floor and the goals. One op of the floor and one op of the row write the same number of
/// events, so the ratio of their times is the ratio per event.
fn against_batches(row: Row, log: &Log, turns: usize) -> Row {
    if turns > 1 {
        let floor = floors::courses_in_turn(log, CALLERS, turns);
        return row
            .floor(&floor)
            .goal(Goal::share_of(&floor, 0.85).peer(PEER));
    }
    let floor = floors::courses(log, CALLERS);
    row.floor(&floor)
        .goal(Goal::share_of(&floor, 0.85).peer(PEER))
        .goal(Goal::p99(Duration::from_millis(5)))
}
