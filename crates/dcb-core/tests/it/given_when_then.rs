//! `given`, `when` and `then`, which test decisions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::events::{event, positions};
use dcb_core::{
    DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query, ReadOptions,
    SequencedEvent, given,
};

#[derive(Debug)]
enum Refused {
    Full,
    Store(#[expect(dead_code, reason = "shown by Debug")] Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Enrolls in a course with two seats. Refuses a third, and does nothing after that.
async fn enroll(store: &(impl EventStore + Clone + 'static)) -> Result<u32, Refused> {
    let query = Query::builder().event_type("Enrolled").tag("course:1");
    let seats = DecisionModel::new(Projector::counter(query.build()?));
    let decided = seats
        .decide(store, |taken| match taken {
            0 | 1 => Ok(vec![
                Event::builder("Enrolled")
                    .tag("course:1")
                    .json(&serde_json::json!({"seat": taken, "by": "x"}))
                    .correlation_id("r1")
                    .build()?,
            ]),
            2 => Err(Refused::Full),
            _ => Ok(Vec::new()),
        })
        .await?;
    Ok(decided.attempts)
}

fn enrolled() -> Event {
    event("Enrolled", &["course:1"])
}

fn seat(data: &str) -> Event {
    let event = Event::builder("Enrolled").tag("course:1").data(data);
    event.build().unwrap()
}

#[tokio::test]
async fn then_compares_json_data_by_value() {
    let outcome = given([enrolled()]).when(enroll).await;
    let attempts = outcome.then(seat(r#"{ "by": "x", "seat": 1 }"#));
    assert_eq!(attempts, 1);
}

#[tokio::test]
async fn then_refused_and_then_nothing_accept_their_outcome() {
    let two = [enrolled(), enrolled()];
    let refused = given(two).when(enroll).await.then_refused();
    assert!(matches!(refused, Refused::Full));
    let three = [enrolled(), enrolled(), enrolled()];
    given(three).when(enroll).await.then_nothing();
}

#[tokio::test]
async fn unexpected_outcome_panics_and_shows_both_sides() {
    for wrong in [
        vec![],
        vec![seat(r#"{"seat":0,"by":"y"}"#)],
        vec![event("Enrolled", &["course:2"])],
        vec![
            seat(r#"{"seat":0,"by":"x"}"#),
            seat(r#"{"seat":1,"by":"x"}"#),
        ],
        vec![
            Event::builder("Enrolled")
                .tag("course:1")
                .data(r#"{"seat":0,"by":"x"}"#)
                .correlation_id("r2")
                .build()
                .unwrap(),
        ],
    ] {
        let outcome = given([]).when(enroll).await;
        let panic = catch_unwind(AssertUnwindSafe(|| outcome.then(wrong))).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(
            text.contains("expected:") && text.contains("Enrolled"),
            "{text}"
        );
    }
    let made = given([]).when(enroll).await;
    assert!(catch_unwind(AssertUnwindSafe(|| made.then_refused())).is_err());
    let two = [enrolled(), enrolled()];
    let refused = given(two).when(enroll).await;
    assert!(catch_unwind(AssertUnwindSafe(|| refused.then_nothing())).is_err());
}

/// A decision that appends nothing and returns the log.
async fn log(store: &MemoryStore) -> Result<Vec<SequencedEvent>, Error> {
    let log = store.query(&Query::all(), ReadOptions::new()).await?;
    Ok(log.events)
}

#[tokio::test]
async fn given_events_may_have_a_time() {
    // Stored times are whole microseconds.
    let begun = SystemTime::now() - Duration::from_micros(1);
    let hour = Duration::from_secs(3600);
    // Nanoseconds are rounded down, as a store would.
    let (old, older) = (
        UNIX_EPOCH + 2 * hour + Duration::from_nanos(7),
        UNIX_EPOCH + hour,
    );
    let given = given([enrolled()]).and_at(old, [enrolled(), enrolled()]);
    let log = given
        .and_at(older, [enrolled()])
        .when(log)
        .await
        .then_nothing();
    let times: Vec<_> = log.iter().map(|event| event.recorded_at()).collect();
    assert_eq!(
        times[1..],
        [UNIX_EPOCH + 2 * hour, UNIX_EPOCH + 2 * hour, older]
    );
    assert!(begun <= times[0] && times[0] <= SystemTime::now());
}

#[tokio::test]
async fn given_events_may_be_stored_ones() {
    let store = MemoryStore::new();
    store
        .append([
            event("Other", &[]),
            enrolled(),
            event("Other", &[]),
            seat("{}"),
        ])
        .await
        .unwrap();
    let query = Query::builder().event_type("Enrolled").build().unwrap();
    let stored = store
        .query(&query, ReadOptions::new())
        .await
        .unwrap()
        .events;
    let log = given([])
        .and_stored(stored.clone())
        .when(log)
        .await
        .then_nothing();
    assert_eq!(positions(&log), [1, 2]);
    for (given, stored) in log.into_iter().zip(stored) {
        assert_eq!(given.recorded_at(), stored.recorded_at());
        assert_eq!(given.into_event(), stored.into_event());
    }
}
