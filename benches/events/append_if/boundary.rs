//! The conditions of the boundary rows.

use crate::support::appender::{Appender, outcome};
use crate::support::content::Content;
use crate::support::million;
use crate::support::repeat::HOT_TAG;
use crate::support::rows;
use bench::{AsyncOp, BoxError, Expect, Op, Outcome, Row};
use course_enrollment::EnrollmentCompleted;
use dcb_core::{AppendCondition, Bookmark, Event, EventStore as _, Query};

/// The distance of a condition's `after` from the head, in events.
const BEHIND: u64 = 1_000;

/// A condition under which each call appends a new course.
#[derive(Clone, Copy)]
pub(crate) struct Boundary {
    variant: &'static str,
    excluded: Excluded,
    /// True if the condition looks at the last [`BEHIND`] events only.
    near: bool,
}

/// The events that the condition forbids.
#[derive(Clone, Copy)]
enum Excluded {
    /// The course that the call appends: its type and both tags.
    Own,
    /// An enrollment of a student with few enrollments.
    Cold,
    /// An enrollment with the hot tag.
    Hot,
    /// An event with the hot tag and a type that no event has.
    HotNever,
    /// An enrollment with the hot tag, of a student without such an enrollment.
    HotAndCold,
}

pub(crate) const OWN_NEAR: Boundary = boundary("type and 2 tags, after", Excluded::Own, true);
pub(crate) const OWN_ALL: Boundary = boundary("type and 2 tags, no after", Excluded::Own, false);
pub(crate) const COLD: Boundary = boundary("cold tag", Excluded::Cold, true);
#[rustfmt::skip] // A condition per line.
pub(crate) const HOT: [Boundary; 4] = [
    boundary("hot tag, after near the head", Excluded::Hot, true),
    boundary("hot tag, rejected", Excluded::Hot, false),
    boundary("hot tag, type that never matches", Excluded::HotNever, false),
    boundary("hot tag paired with a cold tag", Excluded::HotAndCold, false),
];

const fn boundary(variant: &'static str, excluded: Excluded, near: bool) -> Boundary {
    Boundary {
        variant,
        excluded,
        near,
    }
}

impl Boundary {
    /// A row whose callers make `turns` appends each; `log` names the log in words.
    pub(crate) fn row(self, dataset: &str, callers: usize, turns: usize, log: &str) -> Row {
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
                self.excluded.text(),
                if self.near {
                    " among the last 1,000 events"
                } else {
                    ""
                },
            ))
            .fills("append_if_ms");
        if self.is_met() {
            row.expect(Expect::AllRefused)
        } else {
            row
        }
    }

    /// True if the log holds a forbidden event, so every call is refused.
    fn is_met(self) -> bool {
        // With `near`, the condition covers only the end of the log, where no event has the hot
        // tag.
        matches!((self.excluded, self.near), (Excluded::Hot, false))
    }

    /// The op of [`row`](Self::row).
    pub(crate) fn op(self, set_up: AsyncOp<Appender>, content: Content, turns: usize) -> Op {
        set_up.call(move |appender, call| async move {
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
        let query = self.excluded.query(content, &course, worker)?;
        let after = self.near.then(|| appender.behind_head(BEHIND)).flatten();
        let condition = AppendCondition::fail_if(query).after(after.map(Bookmark::from));
        let appended = appender.store.events.append_if(course, condition).await;
        if let Ok(appended) = &appended {
            appender.observe(appended);
        }
        outcome(appended)
    }
}

impl Excluded {
    fn text(self) -> &'static str {
        match self {
            Self::Own => "no event of this type has its course id and category",
            Self::Cold => "a certain student with few enrollments has none",
            Self::Hot => "no enrollment has a tag that over 100,000 enrollments have",
            Self::HotNever => {
                "no event has a tag that over 100,000 enrollments have and a type that never occurs"
            }
            Self::HotAndCold => {
                "no enrollment of a student with few enrollments has a tag that over 100,000 \
                 enrollments have"
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
