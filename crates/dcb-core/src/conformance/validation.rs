//! Bad input is refused with the name of the field; nothing is written.

use super::fixture::{assert_refused, head, many};
use crate::{Error, Event, EventStore, EventType, Limits, Position, Problem, Query, Tag, Tracking};

pub(super) async fn an_append_has_at_least_one_event(store: &impl EventStore) {
    assert_refused!(
        store.append([]).await,
        Error::Invalid { field, problem: Problem::Empty } if field == "events"
    );
}

pub(super) async fn an_append_has_at_most_a_thousand_events(store: &impl EventStore) {
    let most = Limits::default().max_events_per_append;
    assert_refused!(
        store.append(many(most + 1, "a")).await,
        Error::Invalid { field, problem: Problem::TooMany { max, actual } }
            if field == "events" && (*max, *actual) == (most, most + 1)
    );
    assert_eq!(head(store).await, 0);
}

/// An event of exactly this size.
fn of_size(bytes: usize) -> Event {
    let frame = Event::builder("Large").tag("a").metadata("k", "v");
    let overhead = frame.clone().build().unwrap().size_bytes();
    frame.data(vec![b'x'; bytes - overhead]).build().unwrap()
}

pub(super) async fn an_event_has_at_most_a_mebibyte(store: &impl EventStore) {
    let most = Limits::default().max_event_bytes;
    assert_refused!(
        store.append([of_size(100), of_size(100), of_size(most + 1)]).await,
        Error::Invalid { field, problem: Problem::TooLarge { max, actual } }
            if field == "events[2]" && (*max, *actual) == (most as u64, most as u64 + 1)
    );
    assert_eq!(head(store).await, 0);
    store.append(of_size(most)).await.unwrap();
    assert_eq!(head(store).await, 1);
}

pub(super) async fn an_append_has_at_most_64_mebibytes(store: &impl EventStore) {
    let limits = Limits::default();
    let most = limits.max_append_bytes;
    let mut events = vec![of_size(limits.max_event_bytes); most / limits.max_event_bytes];
    events.push(of_size(100));
    assert_refused!(
        store.append(events).await,
        Error::Invalid { field, problem: Problem::TooLarge { max, actual } }
            if field == "events" && (*max, *actual) == (most as u64, most as u64 + 100)
    );
    assert_eq!(head(store).await, 0);
}

/// Passes where the answer is an invalid `field`.
fn assert_invalid<T: std::fmt::Debug>(answer: Result<T, Error>, field: &str) {
    assert_refused!(answer, Error::Invalid { field: named, .. } if named == field);
}

pub(super) async fn what_the_vocabulary_refuses_never_reaches_a_store(store: &impl EventStore) {
    let longest = |chars: usize| "語".repeat(chars + 1);
    assert_invalid(
        Event::builder(longest(EventType::MAX_CHARS)).build(),
        "type",
    );
    assert_invalid(Event::builder("").build(), "type");
    assert_invalid(Event::builder("a\0b").build(), "type");
    assert_invalid(
        Event::builder("A").tag(longest(Tag::MAX_CHARS)).build(),
        "tags",
    );
    assert_invalid(Event::builder("A").tag("a\0").build(), "tags");
    assert_invalid(Event::builder("A").metadata("k", "\0").build(), "metadata");
    assert_invalid(Query::new([]), "query.items");
    assert_invalid(Query::builder().build(), "query.items");
    assert_invalid(Tracking::new("", 1), "tracking.source");
    assert_invalid(Tracking::new("upstream", u64::MAX), "tracking.position");
    assert_eq!(Position::new(0), None);
    assert_eq!(head(store).await, 0);
}
