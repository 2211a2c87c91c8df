//! The calls.

use super::work::Work;
use bench::{BoxError, Outcome};
use dcb_core::{
    AnyStore, AppendCondition, Bookmark, DecisionModel, Error, Event, EventStore, Position,
    Projector, Query, ReadOptions, StateOptions,
};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The last event of each course, for calls that remember it.
pub(super) type Last = Mutex<HashMap<String, Position>>;

pub(super) async fn decide(
    store: &AnyStore,
    course: &str,
    work: Work,
) -> Result<Outcome, BoxError> {
    let taken = Projector::counter(seats(course)?);
    let model = DecisionModel::new(match work {
        Work {
            stores_state: true, ..
        } => taken.keep_stored("seats taken", 1, StateOptions::new()),
        Work {
            keeps_state: true, ..
        } => taken.keep("seats taken", 1),
        _ => taken,
    });
    let decided = model.decide(store, |taken| match taken < work.capacity {
        true => Ok(vec![enrollment(course)?]),
        false => Ok::<_, Error>(Vec::new()),
    });
    let decided = decided.await?;
    Ok(match decided.appended {
        Some(_) => Outcome::Success,
        None => Outcome::Refused,
    })
}

pub(super) async fn by_hand(store: &AnyStore, course: &str) -> Result<Outcome, BoxError> {
    let taken = Projector::counter(seats(course)?);
    let projected = store.project(&taken).await?;
    let enrolled = enrollment(course)?;
    store.append_if(enrolled, projected.condition).await?;
    Ok(Outcome::Success)
}

fn last_of(last: &Last, course: &str) -> Option<Bookmark> {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.get(course).copied().map(Bookmark::from)
}

pub(super) async fn append_if(
    store: &AnyStore,
    course: &str,
    last: &Last,
) -> Result<Outcome, BoxError> {
    let unchanged = AppendCondition::fail_if(seats(course)?).after(last_of(last, course));
    let appended = store.append_if(enrollment(course)?, unchanged).await?;
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.insert(course.to_owned(), appended.last());
    Ok(Outcome::Success)
}

/// The first call on a course appends the event after which the others look.
pub(super) async fn look(store: &AnyStore, course: &str, last: &Last) -> Result<Outcome, BoxError> {
    let Some(after) = last_of(last, course) else {
        return append_if(store, course, last).await;
    };
    let next = ReadOptions::new().after(after).limit(1);
    let found = store.query(&seats(course)?, next).await?;
    Ok(match found.events.is_empty() {
        true => Outcome::Success,
        false => Outcome::Refused,
    })
}

/// The events that take a seat of the course.
fn seats(course: &str) -> Result<Query, Error> {
    let taken = Query::builder().event_type("EnrollmentCompleted");
    taken.tag(course).build()
}

pub(super) fn enrollment(course: &str) -> Result<Event, Error> {
    let enrolled = Event::builder("EnrollmentCompleted").tag(course);
    enrolled.json(&serde_json::json!({"grade": "A"})).build()
}
