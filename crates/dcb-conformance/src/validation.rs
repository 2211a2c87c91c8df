//! Invalid input is refused with the name of the field, and nothing is written.

use conformance_suite::assert_refused;
use dcb_core::{
    Error, Event, EventStore, EventType, Limits, Position, Problem, Query, Tag, Tracking,
};

use super::fixture::{head, many};

pub(super) async fn empty_append_is_refused(store: &impl EventStore) {
    assert_refused!(
        store.append([]).await,
        Error::Invalid { field, problem: Problem::Empty } if field == "events"
    );
}

pub(super) async fn append_of_over_1000_events_is_refused(store: &impl EventStore) {
    let most = Limits::default().max_events_per_append;
    assert_refused!(
        store.append(many(most + 1, "a")).await,
        Error::Invalid { field, problem: Problem::TooMany { max, actual } }
            if field == "events" && (*max, *actual) == (most, most + 1)
    );
    assert_eq!(head(store).await, 0);
}

/// An event of exactly this size.
fn event_of_size(bytes: usize) -> Event {
    let frame = Event::builder("Large").tag("a").metadata("k", "v");
    let overhead = frame.clone().build().unwrap().size_bytes();
    frame.data(vec![b'x'; bytes - overhead]).build().unwrap()
}

pub(super) async fn event_over_one_mebibyte_is_refused(store: &impl EventStore) {
    let most = Limits::default().max_event_bytes;
    assert_refused!(
        store.append([event_of_size(100), event_of_size(100), event_of_size(most + 1)]).await,
        Error::Invalid { field, problem: Problem::TooLarge { max, actual } }
            if field == "events[2]" && (*max, *actual) == (most as u64, most as u64 + 1)
    );
    assert_eq!(head(store).await, 0);
    store.append(event_of_size(most)).await.unwrap();
    assert_eq!(head(store).await, 1);
}

pub(super) async fn append_over_64_mebibytes_is_refused(store: &impl EventStore) {
    let limits = Limits::default();
    let most = limits.max_append_bytes;
    let mut events = vec![event_of_size(limits.max_event_bytes); most / limits.max_event_bytes];
    events.push(event_of_size(100));
    assert_refused!(
        store.append(events).await,
        Error::Invalid { field, problem: Problem::TooLarge { max, actual } }
            if field == "events" && (*max, *actual) == (most as u64, most as u64 + 100)
    );
    assert_eq!(head(store).await, 0);
}

/// Asserts that the answer is [`Error::Invalid`] for this field.
fn assert_invalid<T: std::fmt::Debug>(answer: Result<T, Error>, field: &str) {
    assert_refused!(answer, Error::Invalid { field: named, .. } if named == field);
}

pub(super) async fn invalid_values_are_refused_before_the_store(store: &impl EventStore) {
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
