//! Helpers for the cases.

use dcb_core::{Error, Event, EventStore, Position, Query, ReadOptions, SequencedEvent};

/// An event of this type with these tags.
pub(super) fn event(event_type: &str, tags: &[&str]) -> Event {
    Event::builder(event_type)
        .tags(tags)
        .build()
        .expect("the event is valid")
}

/// An event with these tags and an arbitrary type.
pub(super) fn tagged(tags: &[&str]) -> Event {
    event("Happened", tags)
}

/// `count` events with this tag.
pub(super) fn many(count: usize, tag: &str) -> Vec<Event> {
    (0..count).map(|_| tagged(&[tag])).collect()
}

/// A query with one item.
pub(super) fn query(types: &[&str], tags: &[&str]) -> Query {
    let item = Query::builder()
        .event_types(types.iter().copied())
        .tags(tags.iter().copied());
    item.build().expect("the query is valid")
}

/// A query for the events with this tag.
pub(super) fn tag(tag: &str) -> Query {
    query(&[], &[tag])
}

pub(super) fn at(number: u64) -> Position {
    Position::new(number).expect("positions begin at 1")
}

/// The whole log.
pub(super) async fn log(store: &impl EventStore) -> Vec<SequencedEvent> {
    read(store, &Query::all()).await
}

/// All events that match `query`.
pub(super) async fn read(store: &impl EventStore, query: &Query) -> Vec<SequencedEvent> {
    store
        .query(query, ReadOptions::new())
        .await
        .expect("the log can be read")
        .events
}

/// The last position as a number, 0 if the log is empty.
pub(super) async fn head(store: &impl EventStore) -> u64 {
    let head = store.head().await.expect("the head can be read");
    head.map_or(0, |head| head.position.get())
}

/// The positions of the events as numbers.
pub(super) fn positions(events: &[SequencedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.position().get()).collect()
}

/// Reasons for a decision to fail.
#[derive(Debug)]
pub(super) enum Refusal {
    Full,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Panics without a message on standard error.
pub(super) fn panic_silently() -> ! {
    std::panic::resume_unwind(Box::new("the test wants this panic"))
}
