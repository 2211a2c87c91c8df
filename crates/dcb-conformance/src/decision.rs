//! A decision model projects, decides and appends, and starts again after a conflict.

use super::fixture::{Refusal, at, head, many, query, tag, tagged};
use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};

/// A decision that depends on the number of events tagged `a`.
fn counting() -> DecisionModel<Projector<u64>> {
    DecisionModel::new(Projector::counter(tag("a")))
}

/// Appends in the middle of a decision, as another caller might.
fn interfere(store: &impl EventStore, event: Event) {
    let append = async { store.append(event).await };
    // The decision closure is synchronous, so the append has to block its thread.
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(append)).unwrap();
}

pub(super) async fn decision_appends_under_condition_of_its_state(
    store: &(impl EventStore + Clone + 'static),
) {
    store.append(many(2, "a")).await.unwrap();
    let model = counting();
    let decided = model.decide(store, |count| {
        assert_eq!(count, 2);
        Ok::<_, Error>([tagged(&["a"]), tagged(&["b"])])
    });
    let decided = decided.await.unwrap();
    assert_eq!(decided.attempts, 1);
    assert_eq!(
        decided.appended.unwrap().positions().collect::<Vec<_>>(),
        [at(3), at(4)]
    );
}

pub(super) async fn decision_is_retried_after_conflict(
    store: &(impl EventStore + Clone + 'static),
) {
    let mut seen = Vec::new();
    let model = counting();
    let decided = model.decide(store, |count| {
        seen.push(count);
        if seen.len() < 4 {
            interfere(store, tagged(&["a"]));
        }
        Ok::<_, Error>(tagged(&["a", "decided"]))
    });
    let decided = decided.await.unwrap();
    assert_eq!(
        (decided.attempts, decided.appended.unwrap().first()),
        (4, at(4))
    );
    assert_eq!(seen, [0, 1, 2, 3]);
    assert_eq!(store.count(&tag("decided")).await.unwrap(), 1);
}

pub(super) async fn decision_stops_after_max_attempts(store: &(impl EventStore + Clone + 'static)) {
    for (allowed, expected) in [(0, 1), (1, 1), (3, 3)] {
        let before = head(store).await;
        let mut made = 0;
        let model = counting().max_attempts(allowed);
        let answer = model.decide(store, |_| {
            made += 1;
            interfere(store, tagged(&["a"]));
            Ok::<_, Error>(tagged(&["decided"]))
        });
        let answer = answer.await;
        assert!(answer.as_ref().is_err_and(Error::is_transient));
        match answer {
            Err(Error::RetriesExhausted { attempts, position }) => {
                assert_eq!((attempts, made), (expected, expected));
                assert_eq!(position, at(before + u64::from(expected)));
            }
            other => panic!("answered {other:?}"),
        }
    }
    assert!(!store.exists(&tag("decided")).await.unwrap());
}

pub(super) async fn decision_ignores_unrelated_events(store: &(impl EventStore + Clone + 'static)) {
    let model = counting();
    let decided = model.decide(store, |_| {
        interfere(store, tagged(&["other"]));
        Ok::<_, Error>(tagged(&["a"]))
    });
    assert_eq!(decided.await.unwrap().attempts, 1);
}

pub(super) async fn decision_without_events_appends_nothing(
    store: &(impl EventStore + Clone + 'static),
) {
    let decided = counting()
        .decide(store, |_| Ok::<Vec<Event>, Error>(Vec::new()))
        .await
        .unwrap();
    assert_eq!((decided.appended, decided.attempts), (None, 1));
    assert_eq!(head(store).await, 0);
}

pub(super) async fn refusal_is_returned_to_the_caller(store: &(impl EventStore + Clone + 'static)) {
    store.append(many(2, "a")).await.unwrap();
    let full = |count| {
        if count < 2 {
            Ok(tagged(&["a"]))
        } else {
            Err(Refusal::Full)
        }
    };
    let answer = counting().decide(store, full).await;
    assert!(matches!(answer, Err(Refusal::Full)), "answered {answer:?}");
    let unrelated = DecisionModel::new(Projector::counter(query(&["Absent"], &[])));
    let answer = unrelated
        .decide(store, |_| Ok::<_, Refusal>(many(1001, "a")))
        .await;
    assert!(
        matches!(answer, Err(Refusal::Store(Error::Invalid { .. }))),
        "answered {answer:?}"
    );
    assert_eq!(head(store).await, 2);
}
