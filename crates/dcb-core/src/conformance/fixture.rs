//! The short words that the cases are written in.

use crate::{Error, Event, EventStore, Position, Query, ReadOptions, SequencedEvent};

/// Passes where `call` answers with an error of this pattern.
macro_rules! assert_refused {
    ($call:expr, $pattern:pat $(if $guard:expr)?) => {{
        let answer = $call;
        assert!(matches!(&answer, Err($pattern) $(if $guard)?), "answered {answer:?}");
    }};
}
pub(super) use assert_refused;

/// An event of this type with these tags.
pub(super) fn event(event_type: &str, tags: &[&str]) -> Event {
    Event::builder(event_type)
        .tags(tags)
        .build()
        .expect("the event is valid")
}

/// An event with these tags, of a type that does not matter.
pub(super) fn tagged(tags: &[&str]) -> Event {
    event("Happened", tags)
}

/// So many events with this tag.
pub(super) fn many(count: usize, tag: &str) -> Vec<Event> {
    (0..count).map(|_| tagged(&[tag])).collect()
}

/// The query of one item.
pub(super) fn query(types: &[&str], tags: &[&str]) -> Query {
    let item = Query::builder()
        .event_types(types.iter().copied())
        .tags(tags.iter().copied());
    item.build().expect("the query is valid")
}

/// The query of the events with this tag.
pub(super) fn tag(tag: &str) -> Query {
    query(&[], &[tag])
}

/// The position of this number.
pub(super) fn at(number: u64) -> Position {
    Position::new(number).expect("positions begin at 1")
}

/// The whole log.
pub(super) async fn log(store: &impl EventStore) -> Vec<SequencedEvent> {
    read(store, &Query::all()).await
}

/// All events that match.
pub(super) async fn read(store: &impl EventStore, query: &Query) -> Vec<SequencedEvent> {
    store
        .query(query, ReadOptions::new())
        .await
        .expect("the log can be read")
        .events
}

/// The number of the last position, 0 of an empty log.
pub(super) async fn head(store: &impl EventStore) -> u64 {
    Position::number_or_zero(store.head().await.expect("the head can be read"))
}

/// The positions of the events, as numbers.
pub(super) fn positions(events: &[SequencedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.position().get()).collect()
}

/// What a decision may be refused with.
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
