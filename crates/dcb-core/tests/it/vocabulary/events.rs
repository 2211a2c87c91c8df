//! Events return the parts that they were built from.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use dcb_core::{Appended, Error, Event, Position, SequencedEvent};
use proptest::collection::vec;
use proptest::prelude::*;
use uuid::Uuid;

fn text(max_chars: usize) -> impl Strategy<Value = String> {
    vec(
        any::<char>().prop_filter("no NUL", |c| *c != '\0'),
        1..max_chars,
    )
    .prop_map(|chars| chars.into_iter().collect())
}

fn sequenced(event: Event) -> SequencedEvent {
    event.into_sequenced(Position::FIRST, UNIX_EPOCH, Uuid::from_u128(1))
}

proptest! {
    #[test]
    fn event_returns_its_parts_unchanged(
        event_type in text(255),
        tags in vec(text(20), 0..8),
        metadata in vec((text(20), prop_oneof![Just(String::new()), text(20)]), 0..6),
        data in vec(any::<u8>(), 0..200),
    ) {
        let mut metadata = metadata;
        let mut keys = BTreeSet::new();
        metadata.retain(|(key, _)| keys.insert(key.clone()));
        let builder = Event::builder(event_type.as_str()).tags(&tags).data(data.as_slice());
        let event = metadata.iter().fold(builder, |event, (key, value)| {
            event.metadata(key, value)
        });
        let event = event.build().unwrap();
        let set: BTreeSet<&str> = tags.iter().map(String::as_str).collect();
        let pairs: Vec<(&str, &str)> =
            metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();

        prop_assert_eq!(event.event_type(), &event_type);
        prop_assert_eq!(event.tags().collect::<Vec<_>>(), set.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(event.metadata().collect::<Vec<_>>(), pairs.clone());
        prop_assert_eq!(event.data(), data.as_slice());

        let stored = sequenced(event.clone());
        prop_assert!(stored.has_content_of(&event));
        prop_assert_eq!(stored.event_type(), &event_type);
        prop_assert_eq!(stored.metadata().collect::<Vec<_>>(), pairs);
        prop_assert_eq!(stored.data(), data.as_slice());

        prop_assert_eq!(&event.to_builder().build().unwrap(), &event);
        let id = stored.id();
        prop_assert_eq!(stored.into_event(), event.with_id(id));
    }

    #[test]
    fn different_parts_make_different_events(
        texts in vec(text(4), 4),
        others in vec(text(4), 4),
    ) {
        let event = |texts: &[String]| {
            let event = Event::builder(texts[0].as_str()).tag(&texts[1]);
            event.metadata(&texts[2], &texts[3]).build().unwrap()
        };
        prop_assert_eq!(event(&texts) == event(&others), texts == others);
    }

    #[test]
    fn found_positions_keep_their_order(numbers in vec(1_u64..50, 1..8)) {
        let positions: Vec<Position> = numbers.iter().copied().filter_map(Position::new).collect();
        let appended = Appended::found(positions.clone()).unwrap();
        let found: Vec<Position> = appended.positions().collect();
        prop_assert_eq!(&found, &positions);
        prop_assert_eq!(appended.first(), positions[0]);
        prop_assert_eq!(Some(&appended.last()), positions.last());
    }
}

#[test]
fn same_texts_in_other_fields_make_another_event() {
    let tagged = Event::builder("A").tag("b").tag("c").build().unwrap();
    let noted = Event::builder("A").metadata("b", "c").build().unwrap();
    let filled = Event::builder("A").data("\0b\0c").build().unwrap();
    assert_ne!(tagged, noted);
    assert_ne!(tagged, filled);
    assert_ne!(noted, filled);
}

#[test]
fn tags_are_found_by_text_and_by_key() {
    let event = Event::builder("A")
        .tag_pair("course", 7)
        .tag("course2:8")
        .tag("plain");
    let event = event.tag("a:b:c").build().unwrap();
    assert!(event.has_tag("course:7") && event.has_tag("plain"));
    assert!(!event.has_tag("course") && !event.has_tag("course:"));
    assert_eq!(event.tag_value("course"), Some("7"));
    assert_eq!(event.tag_value("a"), Some("b:c"));
    assert_eq!(event.tag_value("plain"), None);
}

#[test]
fn builder_of_an_event_keeps_its_parts_and_adds_others() {
    let event = Event::builder("A")
        .id(Uuid::from_u128(7))
        .tag("b")
        .metadata("k", "v")
        .data("{}");
    let event = event.build().unwrap();
    let changed = event
        .to_builder()
        .tag("a")
        .metadata("l", "w")
        .build()
        .unwrap();
    assert_eq!(changed.id(), Some(Uuid::from_u128(7)));
    assert_eq!(changed.tags().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        changed.metadata().collect::<Vec<_>>(),
        [("k", "v"), ("l", "w")]
    );
    assert_eq!((changed.event_type(), changed.data()), ("A", event.data()));
    // A key is still unique.
    assert!(event.to_builder().metadata("k", "w").build().is_err());
}

#[test]
fn json_error_of_a_stored_event_names_the_event() {
    let stored = sequenced(Event::builder("A").data("{").build().unwrap());
    let failed = stored.json::<u64>().unwrap_err();
    assert!(matches!(&failed, Error::Unreadable { position, .. } if *position == Position::FIRST));
    let source = std::error::Error::source(&failed).unwrap();
    assert!(failed.to_string().ends_with(&source.to_string()));
}

#[test]
fn json_is_written_compactly_and_read_back() {
    let value = serde_json::json!({"grade": "A", "points": [1, 2]});
    let event = Event::builder("A").json(&value).build().unwrap();
    assert_eq!(event.data(), br#"{"grade":"A","points":[1,2]}"#);
    assert_eq!(event.json::<serde_json::Value>().unwrap(), value);
}

#[test]
fn debug_output_shows_every_part() {
    let event = Event::builder("A")
        .id(Uuid::from_u128(7))
        .tag("b")
        .metadata("k", "v")
        .data("{}");
    let event = event.build().unwrap();
    let shown = format!("{event:?}\n{:?}\n", sequenced(event.clone()));
    assert_eq!(shown, include_str!("../../golden/debug.txt"));
}

#[test]
fn found_positions_can_be_scattered() {
    let at = |number| Position::new(number).unwrap();
    let found = |numbers: &[u64]| Appended::found(numbers.iter().copied().map(at).collect());
    assert_eq!(found(&[]), None);
    assert_eq!(found(&[3, 4, 5]), Some(Appended::contiguous(at(3), 3)));
    let scattered = found(&[3, 9, 4]).unwrap();
    assert_eq!(
        scattered.positions().collect::<Vec<_>>(),
        [at(3), at(9), at(4)]
    );
    assert_eq!((scattered.first(), scattered.last()), (at(3), at(4)));
}
