//! Ids are unique in the log, and a repeated append gets the answer of the first.

use std::time::Duration;

use conformance_suite::assert_refused;
use dcb_core::{Append, AppendCondition, Error, Event, EventStore, Position, Tracking};
use futures_util::poll;
use tokio::time::sleep;
use uuid::Uuid;

use super::fixture::{at, event, head, log, read, tag, tagged};

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// An event whose id and tag contain `number`.
fn numbered(number: u128) -> Event {
    tagged(&[&format!("n:{number}")]).with_id(id(number))
}

async fn positions_of(store: &impl EventStore, events: impl Into<Vec<Event>>) -> Vec<Position> {
    store.append(events).await.unwrap().positions().collect()
}

/// Asserts that the append is refused because of this id and writes nothing.
async fn assert_taken(store: &impl EventStore, events: impl Into<Vec<Event>>, taken: u128) {
    let before = log(store).await;
    let answer = store.append(events).await;
    assert_refused!(answer, Error::DuplicateId { id: found } if *found == id(taken));
    assert_eq!(log(store).await, before, "nothing is written");
}

pub(super) async fn repeated_append_returns_first_positions(store: &impl EventStore) {
    store.append(tagged(&[])).await.unwrap();
    let events = [numbered(1), numbered(2)];
    let first = store.append(events.clone()).await.unwrap();
    store.append(tagged(&[])).await.unwrap();
    for _ in 0..3 {
        assert_eq!(store.append(events.clone()).await.unwrap(), first);
    }
    assert_eq!(head(store).await, 4);
}

pub(super) async fn repeated_append_ignores_condition(store: &impl EventStore) {
    let condition = AppendCondition::fail_if(tag("n:1"));
    let first = store
        .append_if(numbered(1), condition.clone())
        .await
        .unwrap();
    let again = store
        .append_if(numbered(1), condition.clone())
        .await
        .unwrap();
    assert_eq!(again, first);
    assert_refused!(
        store.append_if(numbered(2), condition).await,
        Error::Conflict { .. }
    );
}

pub(super) async fn repeated_append_ignores_tracking(store: &impl EventStore) {
    let append = Append::new(numbered(1)).tracking(Tracking::new("upstream", 5).unwrap());
    let first = store.submit(append.clone()).await.unwrap();
    assert_eq!(store.submit(append).await.unwrap(), first);
    let later = Append::new(numbered(1)).tracking(Tracking::new("upstream", 9).unwrap());
    assert_eq!(store.submit(later).await.unwrap(), first);
    assert_eq!(store.tracked("upstream").await.unwrap(), Some(5));
}

pub(super) async fn repeated_append_compares_tags_as_sets(store: &impl EventStore) {
    let first = store
        .append(tagged(&["a", "b"]).with_id(id(1)))
        .await
        .unwrap();
    let again = store
        .append(tagged(&["b", "a", "b"]).with_id(id(1)))
        .await
        .unwrap();
    assert_eq!(again, first, "tags are a set");
}

pub(super) async fn repeated_append_may_have_another_trace(store: &impl EventStore) {
    let traced = |trace: Option<&str>| {
        let event = Event::builder("A").id(id(1)).metadata("k", "v");
        let trace = trace.map(|trace| (Event::TRACEPARENT, trace));
        let event = trace
            .into_iter()
            .fold(event, |event, (key, trace)| event.metadata(key, trace));
        event.metadata("l", "v").build().unwrap()
    };
    let first = store.append(traced(Some("first"))).await.unwrap();
    for again in [traced(Some("second")), traced(None)] {
        assert_eq!(store.append(again).await.unwrap(), first);
    }
    let stored = log(store).await;
    let trace = stored[0].metadata_value(Event::TRACEPARENT);
    assert_eq!((stored.len(), trace), (1, Some("first")));
    // All other metadata is content.
    let other = traced(Some("first")).to_builder().metadata("m", "v");
    assert_taken(store, other.build().unwrap(), 1).await;
}

pub(super) async fn known_id_with_other_content_is_refused(store: &impl EventStore) {
    let built = |event_type: &str, tag: &str, keys: [&str; 2], data: &str| {
        let event = Event::builder(event_type).id(id(1)).tag(tag).data(data);
        keys.iter()
            .fold(event, |event, key| event.metadata(*key, "v"))
            .build()
            .unwrap()
    };
    store
        .append(built("A", "t", ["k", "l"], "1"))
        .await
        .unwrap();
    for other in [
        built("B", "t", ["k", "l"], "1"),
        built("A", "u", ["k", "l"], "1"),
        built("A", "t", ["l", "k"], "1"),
        built("A", "t", ["k", "m"], "1"),
        // Data is compared as bytes, not as JSON.
        built("A", "t", ["k", "l"], "1 "),
        event("A", &[]).with_id(id(1)),
    ] {
        assert_taken(store, other, 1).await;
    }
}

pub(super) async fn partly_stored_append_is_refused(store: &impl EventStore) {
    store.append([numbered(1), numbered(2)]).await.unwrap();
    assert_taken(store, [numbered(3), numbered(2), numbered(1)], 2).await;
    assert_taken(store, [numbered(1), tagged(&["without an id"])], 1).await;
    assert_taken(store, [tagged(&["other"]).with_id(id(2)), numbered(3)], 2).await;
}

pub(super) async fn stored_append_with_other_content_names_the_id(store: &impl EventStore) {
    store
        .append([numbered(1), numbered(2), numbered(3)])
        .await
        .unwrap();
    let other = |number| event("Other", &[]).with_id(id(number));
    assert_taken(store, [numbered(1), other(2), numbered(3)], 2).await;
    assert_taken(store, [numbered(1), other(3), other(2)], 3).await;
}

pub(super) async fn stored_events_are_recognized_in_any_grouping(store: &impl EventStore) {
    store
        .append([numbered(1), numbered(2), numbered(3)])
        .await
        .unwrap();
    store.append([numbered(4), numbered(5)]).await.unwrap();
    assert_eq!(positions_of(store, numbered(2)).await, [at(2)]);
    assert_eq!(
        positions_of(store, [numbered(2), numbered(3)]).await,
        [at(2), at(3)]
    );
    assert_eq!(
        positions_of(store, [numbered(3), numbered(1)]).await,
        [at(3), at(1)]
    );
    let scattered = [numbered(5), numbered(1), numbered(4)];
    assert_eq!(positions_of(store, scattered).await, [at(5), at(1), at(4)]);
    assert_eq!(head(store).await, 5);
}

pub(super) async fn id_repeated_within_an_append_is_refused(store: &impl EventStore) {
    assert_taken(store, [numbered(1), numbered(1)], 1).await;
    assert_taken(
        store,
        [
            numbered(1),
            numbered(9),
            numbered(2),
            numbered(2),
            numbered(9),
        ],
        9,
    )
    .await;
}

/// A caller drops an append, then repeats it, as the documentation advises. The log has the first
/// append by then, or a moment later, or never.
pub(super) async fn dropped_append_is_stored_once_when_repeated(store: &impl EventStore) {
    for round in 0..20 {
        let event = numbered(round);
        let condition = AppendCondition::fail_if(tag(&format!("n:{round}")));
        let mut dropped = Box::pin(store.append_if(event.clone(), condition.clone()));
        let has_ended = poll!(&mut dropped).is_ready();
        if !has_ended && round % 2 == 1 {
            sleep(Duration::from_millis(1)).await;
            let _ = poll!(&mut dropped);
        }
        drop(dropped);
        let repeated = store.append_if(event.clone(), condition).await.unwrap();
        let stored = read(store, &tag(&format!("n:{round}"))).await;
        assert_eq!(stored.len(), 1);
        assert_eq!(repeated.positions().next(), Some(stored[0].position()));
    }
}
