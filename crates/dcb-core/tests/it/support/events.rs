//! Helpers to build events and to read logs.

use dcb_core::{
    AppendCondition, Event, EventStore, Limits, Position, Query, ReadOptions, SequencedEvent,
};

/// Size limits that refuse nothing.
pub(crate) const UNLIMITED: Limits = Limits {
    max_events_per_append: usize::MAX,
    max_event_bytes: usize::MAX,
    max_append_bytes: usize::MAX,
    max_conditions_per_append: usize::MAX,
    max_condition_items: usize::MAX,
};

/// An event of this type with these tags.
pub(crate) fn event(event_type: &str, tags: &[&str]) -> Event {
    let event = Event::builder(event_type).tags(tags).build();
    event.expect("the event is valid")
}

/// An event with this tag and an arbitrary type.
pub(crate) fn tagged(tag: &str) -> Event {
    event("Happened", &[tag])
}

/// A query for the events with this tag.
pub(crate) fn tag(tag: &str) -> Query {
    let query = Query::builder().tag(tag).build();
    query.expect("the query is valid")
}

/// The condition that no event has this tag.
pub(crate) fn unless(name: &str) -> AppendCondition {
    AppendCondition::fail_if(tag(name))
}

/// All events that match `query`.
pub(crate) async fn read(store: &impl EventStore, query: &Query) -> Vec<SequencedEvent> {
    let events = store.query(query, ReadOptions::new()).await;
    events.expect("the log can be read").events
}

/// The whole log.
pub(crate) async fn whole_log(store: &impl EventStore) -> Vec<SequencedEvent> {
    read(store, &Query::all()).await
}

/// The last position as a number, 0 if the log is empty.
pub(crate) async fn head(store: &impl EventStore) -> u64 {
    let head = store.head().await.expect("the head can be read");
    head.map_or(0, |head| head.position.get())
}

/// The positions of the events as numbers.
pub(crate) fn positions(events: &[SequencedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.position().get()).collect()
}

pub(crate) fn at(number: u64) -> Position {
    Position::new(number).expect("positions begin at 1")
}
