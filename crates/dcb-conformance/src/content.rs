//! Events are read back exactly as they were appended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::fixture::{log, positions, query, read, tag, tagged};
use dcb_core::{Append, Command, Event, EventStore, EventType};

/// Texts that careless encoding into arrays, JSON, patterns or SQL would change.
const TEXTS: [&str; 24] = [
    r#"a"b"#,
    r"a\b",
    r"\",
    r#"""#,
    "{a,b}",
    "{",
    "}",
    ",",
    "a b",
    " leading and trailing ",
    "NULL",
    "null",
    "a\nb",
    "a\tb\r",
    "it's; DROP TABLE events --",
    "%",
    "_",
    "$1",
    "É",
    "e\u{301}",
    "日本語",
    "👩‍👩‍👧",
    "\u{1}\u{7f}\u{feff}",
    "a:b:c",
];

pub(super) async fn tags_with_special_characters_round_trip(store: &impl EventStore) {
    store.append(tagged(&TEXTS)).await.unwrap();
    for text in TEXTS {
        store.append(tagged(&[text])).await.unwrap();
    }
    let mut sorted = TEXTS;
    sorted.sort_unstable();
    let events = log(store).await;
    assert_eq!(events[0].tags().collect::<Vec<_>>(), sorted);
    for (index, text) in TEXTS.iter().enumerate() {
        assert_eq!(events[index + 1].tags().collect::<Vec<_>>(), [*text]);
        let found = positions(&read(store, &tag(text)).await);
        assert_eq!(found, [1, index as u64 + 2], "the tag {text:?}");
    }
}

pub(super) async fn tag_matches_only_itself(store: &impl EventStore) {
    let near = [
        "course:1",
        "course:10",
        "Course:1",
        "course:1 ",
        "course",
        "1",
        "course:",
        "É",
    ];
    store
        .append(near.map(|text| tagged(&[text])))
        .await
        .unwrap();
    for (index, text) in near.iter().enumerate() {
        assert_eq!(
            positions(&read(store, &tag(text)).await),
            [index as u64 + 1],
            "{text:?}"
        );
    }
    for absent in [
        "course:_",
        "course:%",
        "E\u{301}",
        "é",
        "course:1,course:10",
    ] {
        assert!(!store.exists(&tag(absent)).await.unwrap(), "{absent:?}");
    }
}

/// The log is too long for a backend to scan it for each query.
pub(super) async fn pairs_of_tags_with_special_characters_are_distinguished(
    store: &impl EventStore,
) {
    let pair = |index: usize| {
        let other = index * 7 + index / TEXTS.len();
        [TEXTS[index % TEXTS.len()], TEXTS[other % TEXTS.len()]]
    };
    let pairs: Vec<_> = (0..TEXTS.len() * 15).map(pair).collect();
    let events: Vec<Event> = pairs.iter().map(|pair| tagged(pair)).collect();
    store.append(events).await.unwrap();
    for (index, one) in TEXTS.iter().enumerate() {
        for other in &TEXTS[index..] {
            let has_both = |pair: &[&str; 2]| pair.contains(one) && pair.contains(other);
            let expected: Vec<u64> = (1..)
                .zip(&pairs)
                .filter(|(_, pair)| has_both(pair))
                .map(|(position, _)| position)
                .collect();
            for types in [&[][..], &["Happened"]] {
                let wanted = query(types, &[*one, *other]);
                let found = positions(&read(store, &wanted).await);
                assert_eq!(found, expected, "{one:?} and {other:?}, {types:?}");
                let exists = store.exists(&wanted).await.unwrap();
                assert_eq!(exists, !expected.is_empty(), "{one:?} and {other:?}");
            }
        }
    }
}

pub(super) async fn types_with_special_characters_round_trip(store: &impl EventStore) {
    let longest = "語".repeat(EventType::MAX_CHARS);
    let types: Vec<&str> = TEXTS.into_iter().chain([longest.as_str()]).collect();
    let events: Vec<Event> = types
        .iter()
        .map(|name| super::fixture::event(name, &[]))
        .collect();
    store.append(events).await.unwrap();
    for (index, name) in types.iter().enumerate() {
        let found = read(store, &query(&[name], &[])).await;
        assert_eq!(positions(&found), [index as u64 + 1], "the type {name:?}");
        assert_eq!(found[0].event_type(), *name);
    }
}

/// Appends one event for each of `data`, and asserts that the log returns the same bytes.
async fn assert_data_round_trips(store: &impl EventStore, data: &[&[u8]]) {
    let event = |data: &&[u8]| Event::builder("Happened").data(*data).build().unwrap();
    store
        .append(data.iter().map(event).collect::<Vec<_>>())
        .await
        .unwrap();
    let stored = log(store).await;
    assert_eq!(stored.len(), data.len());
    for (event, data) in stored.iter().zip(data) {
        assert!(
            event.data() == *data,
            "{:?} came back as {event:?}",
            data.escape_ascii()
        );
    }
}

pub(super) async fn json_round_trips_byte_for_byte(store: &impl EventStore) {
    let texts = [
        r#"{"b":1,"a":2}"#,
        r#"{"a":1,"a":2}"#,
        r#"{ "a" : [ 1,2 ,3 ] } "#,
        "123456789012345678901234567890",
        "1.10",
        "1e5",
        "0.1000000000000000055511151231257827",
        r#"{"a":"\u0041\/\u00e9"}"#,
        r#"{"a":"\u0000"}"#,
        "\"a\u{2028}b\"",
        "{}",
        "null",
    ];
    assert_data_round_trips(store, &texts.map(str::as_bytes)).await;
}

pub(super) async fn arbitrary_bytes_round_trip(store: &impl EventStore) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = vec![0xa5; 300_000];
    let data: [&[u8]; 7] = [
        b"",
        b"\0",
        b"a\0b",
        b"\xff\xfe",
        b"\\x00",
        b"not { json",
        b"\xc3\x28 malformed",
    ];
    let data: Vec<&[u8]> = data
        .into_iter()
        .chain([every_byte.as_slice(), &large])
        .collect();
    assert_data_round_trips(store, &data).await;
}

pub(super) async fn metadata_keeps_order_and_characters(store: &impl EventStore) {
    let mut given: Vec<(&str, &str)> = vec![("z", "1"), ("a", "2"), ("m", ""), ("10", "x")];
    given.extend(TEXTS.iter().map(|text| (*text, *text)));
    let builder = given
        .iter()
        .fold(Event::builder("Happened"), |builder, (key, value)| {
            builder.metadata(*key, *value)
        });
    store.append(builder.build().unwrap()).await.unwrap();
    let events = log(store).await;
    assert_eq!(events[0].metadata().collect::<Vec<_>>(), given);
    assert_eq!(events[0].metadata_value("m"), Some(""));
    assert_eq!(events[0].metadata_value("absent"), None);
}

pub(super) async fn correlation_and_causation_ids_are_metadata(store: &impl EventStore) {
    let event = Event::builder("Happened")
        .correlation_id("request-1")
        .causation_id("command-2");
    store.append(event.build().unwrap()).await.unwrap();
    let events = log(store).await;
    let metadata: Vec<_> = events[0].metadata().collect();
    let expected = [
        (Event::CORRELATION_ID, "request-1"),
        (Event::CAUSATION_ID, "command-2"),
    ];
    assert_eq!(metadata, expected);
}

pub(super) async fn duplicate_tags_are_stored_once(store: &impl EventStore) {
    store
        .append([tagged(&["b", "a", "b", "a"]), tagged(&[])])
        .await
        .unwrap();
    let events = log(store).await;
    assert_eq!(events[0].tags().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(events[1].tags().count(), 0);
}

pub(super) async fn event_with_200_tags_is_stored(store: &impl EventStore) {
    let tags: Vec<String> = (0..200).map(|number| format!("tag:{number:03}")).collect();
    let names: Vec<&str> = tags.iter().map(String::as_str).collect();
    store.append(tagged(&names)).await.unwrap();
    assert_eq!(log(store).await[0].tags().collect::<Vec<_>>(), names);
    assert!(store.exists(&query(&[], &names)).await.unwrap());
}

/// Beside events without a time, of the same append and of others that may share its commit.
pub(super) async fn time_of_another_log_is_kept(store: &impl EventStore) {
    let began = SystemTime::now() - Duration::from_secs(1);
    let time = |seconds: u64| UNIX_EPOCH + Duration::from_micros(seconds * 1_000_000 + 1);
    let at = |seconds: u64| {
        let event = Event::builder("Moved").recorded_at(time(seconds));
        event.build().expect("the event is valid")
    };
    let command = Command::builder("Move").build().expect("a command");
    let (moved, alone, new) = tokio::join!(
        store.submit(Append::new([at(7), tagged(&["a"]), at(1_700_000_000)]).command(command)),
        store.append(at(8)),
        store.append(tagged(&["a"])),
    );
    let log = log(store).await;
    let recorded_at = |position: dcb_core::Position| log[position.get() as usize - 1].recorded_at();
    let [first, second, third] = *moved.unwrap().positions().collect::<Vec<_>>() else {
        panic!("three events");
    };
    assert_eq!(recorded_at(first), time(7));
    assert!(recorded_at(second) > began);
    assert_eq!(recorded_at(third), time(1_700_000_000));
    assert_eq!(recorded_at(alone.unwrap().first()), time(8));
    assert!(recorded_at(new.unwrap().first()) > began);
    let commands = store.commands(None, 1).await.unwrap();
    assert_eq!(commands[0].recorded_at(), time(7));
}
