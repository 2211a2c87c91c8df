//! If an append breaks two rules, every store reports the same one.

use conformance_suite::assert_refused;
use dcb_core::{Append, AppendCondition, Error, Event, EventStore, Limits, Tracking};
use uuid::Uuid;

use super::fixture::{at, tag, tagged};

fn with_id(number: u128) -> Event {
    tagged(&["a"]).with_id(Uuid::from_u128(number))
}

/// A condition whose `after` is beyond the head of every log in these cases.
fn beyond() -> AppendCondition {
    AppendCondition::fail_if(tag("a")).after(at(1000))
}

fn upstream(position: u64) -> Tracking {
    Tracking::new("upstream", position).unwrap()
}

pub(super) async fn size_is_checked_before_repeated_ids(store: &impl EventStore) {
    let large = vec![0; Limits::default().max_event_bytes];
    let large = Event::builder("Large")
        .id(Uuid::from_u128(1))
        .data(large)
        .build()
        .unwrap();
    let answer = store.append([large.clone(), large]).await;
    assert_refused!(answer, Error::Invalid { .. });
}

pub(super) async fn repeated_ids_are_checked_before_stored_ids(store: &impl EventStore) {
    store.append(with_id(1)).await.unwrap();
    let answer = store.append([with_id(1), with_id(2), with_id(2)]).await;
    assert_refused!(answer, Error::DuplicateId { id } if *id == Uuid::from_u128(2));
}

pub(super) async fn stored_ids_are_checked_before_after_beyond_head(store: &impl EventStore) {
    let first = store.append(with_id(1)).await.unwrap();
    assert_eq!(store.append_if(with_id(1), beyond()).await.unwrap(), first);
    let answer = store.append_if([with_id(1), with_id(2)], beyond()).await;
    assert_refused!(answer, Error::DuplicateId { .. });
}

pub(super) async fn after_beyond_head_is_checked_before_tracking(store: &impl EventStore) {
    store
        .submit(Append::new(tagged(&["a"])).tracking(upstream(5)))
        .await
        .unwrap();
    let append = Append::new(tagged(&["a"]))
        .tracking(upstream(5))
        .condition(beyond());
    assert_refused!(store.submit(append).await, Error::AfterBeyondHead { .. });
}

pub(super) async fn tracking_is_checked_before_condition(store: &impl EventStore) {
    store
        .submit(Append::new(tagged(&["a"])).tracking(upstream(5)))
        .await
        .unwrap();
    let violated = AppendCondition::fail_if(tag("a"));
    let append = Append::new(tagged(&["a"]))
        .tracking(upstream(5))
        .condition(violated.clone());
    assert_refused!(store.submit(append).await, Error::AlreadyTracked { .. });
    let append = Append::new(tagged(&["a"]))
        .tracking(upstream(6))
        .condition(violated);
    assert_refused!(store.submit(append).await, Error::Conflict { .. });
}
