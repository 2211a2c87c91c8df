//! The rows "with conflict": as published, where no conflict occurs, and with real conflicts.

use super::{EVENTS, written};
use crate::support::appender::{Appender, outcome};
use crate::support::floors;
use crate::support::log::Log;
use crate::support::rows::{self, CALLERS, Reading};
use crate::support::server::Server;
use crate::support::size::Size;
use bench::{Expect, Op, Row, Target};
use dcb_core::EventStore as _;
use std::sync::Arc;

const CONTENDERS: usize = 100;

pub(crate) fn declare(target: &mut Target, local: &Arc<Server>, sizes: &[Size]) {
    for (reading, &size) in rows::product(Reading::BOTH, sizes) {
        let log = reading.write_log(local, size);
        for (callers, events) in rows::product(CALLERS, EVENTS) {
            let (row, op) = match reading {
                Reading::Seed => none_occurs(&log, size, callers, events),
                Reading::Dataset => true_conflict(&log, size, callers, events),
            };
            target.row(row.fills("append_if_conflict_ms"), &op);
        }
        if reading == Reading::Dataset {
            let (row, op) = contended(&log, size);
            target.row(row.fills("append_if_conflict_ms"), &op);
        }
    }
}

/// The published op. The conflicting event exists, but the condition names another id.
fn none_occurs(log: &Log, size: Size, callers: usize, events: usize) -> (Row, Op) {
    let op = Appender::renewing(log)
        .first(|appender, _op| async move {
            appender.store.events.append(appender.events(1)).await?;
            Ok(())
        })
        .call(move |appender, _call| async move {
            let condition = appender.workload.unmet_condition();
            let events = appender.events(events);
            outcome(appender.store.events.append_if(events, condition).await)
        });
    let row = Row::new("AppendIf", size.label)
        .variant("with conflict as in the seed: none occurs")
        .concurrency(callers)
        .events(events as u64)
        .conflict_events(1)
        .one_op(format!(
            "1 append of a course, then {} of {} under the condition that a course with another \
             id is not there, {}",
            rows::calls(callers, "append", "appends"),
            rows::events_text(events),
            Reading::Seed.write_text()
        ))
        .floor(&written(log, callers, events));
    (row, op)
}

fn true_conflict(log: &Log, size: Size, callers: usize, events: usize) -> (Row, Op) {
    let op = Appender::renewing(log)
        .first(|appender, _op| async move {
            let (course, condition) = appender.share_course();
            appender.store.events.append_if(course, condition).await?;
            Ok(())
        })
        .call(move |appender, _call| async move {
            let (_, condition) = appender.shared()?;
            let events = appender.events(events);
            outcome(appender.store.events.append_if(events, condition).await)
        });
    let row = Row::new("AppendIf", size.label)
        .on_the_dataset()
        .variant("true conflict")
        .concurrency(callers)
        .events(events as u64)
        .conflict_events(1)
        .one_op(format!(
            "1 append of a course, then {} of {} under the condition that this course is not \
             there: all are refused; {}",
            rows::calls(callers, "append", "appends"),
            rows::events_text(events),
            Reading::Dataset.write_text()
        ))
        .expect(Expect::AllRefused)
        // The op writes one course only.
        .floor(&floors::insert_1(log));
    (row, op)
}

fn contended(log: &Log, size: Size) -> (Row, Op) {
    let op = Appender::renewing(log)
        // The course must be new for each op, and making it is not part of the op.
        .before(|appender, _op| async move {
            appender.share_course();
            Ok(())
        })
        .call(|appender, _call| async move {
            let (course, condition) = appender.shared()?;
            outcome(appender.store.events.append_if(course, condition).await)
        });
    let row = Row::new("AppendIf", size.label)
        .on_the_dataset()
        .variant("contended: one wins")
        .concurrency(CONTENDERS)
        .one_op(format!(
            "{CONTENDERS} parallel appends of the same course under the condition that it is not \
             there: one succeeds; {}",
            Reading::Dataset.write_text()
        ))
        .expect(Expect::Winners(1))
        .floor(&floors::insert_1(log));
    (row, op)
}
