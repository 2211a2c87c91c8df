//! A decision model: project, decide, append, begin again after a conflict.

use super::fixture::{Refusal, at, head, many, query, tag, tagged};
use crate::{DecisionModel, Error, Event, EventStore, Projector};

/// A decision that depends on the number of events tagged `a`.
fn counting() -> DecisionModel<Projector<u64>> {
    DecisionModel::new(Projector::counter(tag("a")))
}

/// Appends while a decision is being made, as another caller would.
fn meanwhile(store: &impl EventStore, event: Event) {
    let append = async { store.append(event).await };
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(append)).unwrap();
}

pub(super) async fn events_are_appended_under_the_condition_of_the_state(store: &impl EventStore) {
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

pub(super) async fn it_is_made_again_after_a_conflict(store: &impl EventStore) {
    let mut seen = Vec::new();
    let model = counting();
    let decided = model.decide(store, |count| {
        seen.push(count);
        if seen.len() < 4 {
            meanwhile(store, tagged(&["a"]));
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

pub(super) async fn it_is_made_as_often_as_allowed(store: &impl EventStore) {
    for (allowed, expected) in [(0, 1), (1, 1), (3, 3)] {
        let before = head(store).await;
        let mut made = 0;
        let model = counting().max_attempts(allowed);
        let answer = model.decide(store, |_| {
            made += 1;
            meanwhile(store, tagged(&["a"]));
            Ok::<_, Error>(tagged(&["decided"]))
        });
        match answer.await {
            Err(Error::RetriesExhausted { attempts, position }) => {
                assert_eq!((attempts, made), (expected, expected));
                assert_eq!(position, at(before + u64::from(expected)));
            }
            other => panic!("answered {other:?}"),
        }
    }
    assert!(!store.exists(&tag("decided")).await.unwrap());
}

pub(super) async fn what_is_not_its_concern_does_not_interrupt_it(store: &impl EventStore) {
    let model = counting();
    let decided = model.decide(store, |_| {
        meanwhile(store, tagged(&["other"]));
        Ok::<_, Error>(tagged(&["a"]))
    });
    assert_eq!(decided.await.unwrap().attempts, 1);
}

pub(super) async fn no_events_append_nothing(store: &impl EventStore) {
    let decided = counting()
        .decide(store, |_| Ok::<Vec<Event>, Error>(Vec::new()))
        .await
        .unwrap();
    assert_eq!((decided.appended, decided.attempts), (None, 1));
    assert_eq!(head(store).await, 0);
}

pub(super) async fn a_refusal_is_handed_on(store: &impl EventStore) {
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
