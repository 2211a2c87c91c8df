//! Conditions with `after` and without, on hot tags and cold ones, in logs of 61,000 and of a
//! million events.

use crate::support::appender::{Appender, outcome};
use crate::support::content::Content;
use crate::support::floors;
use crate::support::log::Log;
use crate::support::million::{self, HOT_TAG};
use crate::support::rows::{self, Reading, Size};
use crate::support::server::Server;
use bench::pages::local_postgresql as page;
use bench::{AsyncOp, BoxError, Expect, Floor, Goal, Op, Outcome, Row, Target};
use course_enrollment::EnrollmentCompleted;
use dcb_core::{AppendCondition, Event, EventStore as _, Query};
use std::sync::Arc;
use std::time::Duration;

const CALLERS: usize = 100;
/// How many events before the head a condition's `after` is.
const BEHIND: u64 = 1_000;
/// Appends that each caller makes in an op, one after the other. One is the op of all tables;
/// several show the rate of callers that do not wait for each other.
const TURNS: [usize; 2] = [1, 10];
const PEER: &str = "Go library 2,400/s; UmaDB 19,152/s";
const PEER_ONE: &str = "Go library 675-751 µs, and not race-free";
const PEER_NO_AFTER: &str = "a textbook function 6/s";
const PEER_HOT: &str = "counting matches 10-15 ms each, a naive join of tags 130-168 ms";

/// A condition under which a call appends a course of its own.
#[derive(Clone, Copy)]
struct Boundary {
    variant: &'static str,
    asked: Asked,
    /// Whether only the last [`BEHIND`] events are asked, or all.
    near: bool,
}

/// What must not be there.
#[derive(Clone, Copy)]
enum Asked {
    /// The caller's own course: its type and both its tags.
    Own,
    /// An enrollment of a student with a few of them.
    Cold,
    /// An enrollment with the hot tag.
    Hot,
    /// An event with the hot tag and a type that does not occur.
    HotNever,
    /// An enrollment with the hot tag of a student who has none with it.
    HotAndCold,
}

const OWN_NEAR: Boundary = Boundary {
    variant: "type and 2 tags, after",
    asked: Asked::Own,
    near: true,
};
const OWN_ALL: Boundary = Boundary {
    variant: "type and 2 tags, no after",
    asked: Asked::Own,
    near: false,
};
const COLD: Boundary = Boundary {
    variant: "cold tag",
    asked: Asked::Cold,
    near: true,
};
const HOT: [Boundary; 4] = [
    Boundary {
        variant: "hot tag, after near the head",
        asked: Asked::Hot,
        near: true,
    },
    Boundary {
        variant: "hot tag, rejected",
        asked: Asked::Hot,
        near: false,
    },
    Boundary {
        variant: "hot tag, type that never matches",
        asked: Asked::HotNever,
        near: false,
    },
    Boundary {
        variant: "hot tag paired with a cold tag",
        asked: Asked::HotAndCold,
        near: false,
    },
];

pub(crate) fn declare(target: &mut Target, local: &Arc<Server>, sizes: &[Size]) {
    for size in sizes.iter().filter(|size| size.has_goals()) {
        let log = size.log(local);
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
    let op = |boundary: Boundary, turns| boundary.op(Appender::growing(log), log.content(), turns);
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

    let near = beside("with_after", "the same with after", &op(OWN_NEAR, 1));
    let goal = Goal::at_most_times(&near, 1.3).peer(PEER_NO_AFTER);
    target.row(
        row(OWN_ALL, CALLERS, 1).floor(&near).goal(goal),
        &op(OWN_ALL, 1),
    );

    let floor = floors::courses(log, CALLERS);
    target.row(row(COLD, CALLERS, 1).floor(&floor), &op(COLD, 1));
    let cold = beside("cold_tag", "the same with a cold tag", &op(COLD, 1));
    for boundary in HOT {
        let goal = Goal::at_most_times(&cold, 1.5).peer(PEER_HOT);
        let row = row(boundary, CALLERS, 1).floor(&cold).goal(goal);
        target.row(row, &op(boundary, 1));
    }
}

/// The op of another row, measured between the ops of this one.
fn beside(name: &str, what: &str, op: &Op) -> Floor {
    Floor::new(name, what, op).concurrency(CALLERS)
}

/// An op of the floor writes as many events as one of the row, so that shares of ops are shares of
/// events.
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

impl Boundary {
    fn row(self, dataset: &str, callers: usize, turns: usize, log: &str) -> Row {
        let variant = match turns {
            1 => self.variant.to_owned(),
            _ => format!("{}, {}", self.variant, rows::turns_variant(turns)),
        };
        let row = Row::new("AppendIf", dataset)
            .on_the_dataset()
            .variant(variant)
            .concurrency(callers)
            .events(turns as u64)
            .one_op(format!(
                "{} of 1 CourseOffered under the condition that {}{}; {log}",
                rows::calls_in_turn(callers, turns, "append", "appends"),
                self.asked.text(),
                if self.near {
                    " among the last 1,000 events"
                } else {
                    ""
                },
            ))
            .fills(page::APPEND_IF_MS);
        if self.is_met() {
            row.expect(Expect::AllRefused)
        } else {
            row
        }
    }

    /// Whether there is such an event, so that the call is refused.
    fn is_met(self) -> bool {
        matches!((self.asked, self.near), (Asked::Hot, false))
    }

    fn op(self, set_up: AsyncOp<Appender>, content: Content, turns: usize) -> Op {
        set_up
            .before(|appender, _op| async move { appender.look_for_head().await })
            .call(move |appender, call| async move {
                for _ in 1..turns {
                    self.append(&appender, content, call.worker).await?;
                }
                self.append(&appender, content, call.worker).await
            })
    }

    async fn append(
        self,
        appender: &Appender,
        content: Content,
        worker: usize,
    ) -> Result<Outcome, BoxError> {
        let course = appender.workload.course();
        let query = self.asked.query(content, &course, worker)?;
        let after = self.near.then(|| appender.behind_head(BEHIND)).flatten();
        let condition = AppendCondition::fail_if(query).after(after);
        outcome(appender.store.events.append_if(course, condition).await)
    }
}

impl Asked {
    fn text(self) -> &'static str {
        match self {
            Self::Own => "no event of this type with its own course id and category is there",
            Self::Cold => "no enrollment of a student who has a few is there",
            Self::Hot => "no enrollment with a tag that over 100,000 carry is there",
            Self::HotNever => {
                "no event with a tag that over 100,000 carry and a type that never occurs is there"
            }
            Self::HotAndCold => {
                "no enrollment with a tag that over 100,000 carry is there of a student who has a \
                 few without it"
            }
        }
    }

    fn query(self, content: Content, course: &Event, caller: usize) -> Result<Query, BoxError> {
        let query = Query::builder();
        let query = match self {
            Self::Own => query.event_type(course.event_type()).tags(course.tags()),
            Self::Cold => query
                .event_type(EnrollmentCompleted::TYPE)
                .tag(million::cold_tag(content, caller)),
            Self::Hot => query.event_type(EnrollmentCompleted::TYPE).tag(HOT_TAG),
            Self::HotNever => query.event_type("EnrollmentWithdrawn").tag(HOT_TAG),
            Self::HotAndCold => query
                .event_type(EnrollmentCompleted::TYPE)
                .tag(HOT_TAG)
                .tag(million::cold_tag(content, caller)),
        };
        Ok(query.build()?)
    }
}
