use conformance_suite::assert_refused;
use message_store::{
    Error, GlobalPosition, Message, MessageStore, Position, Problem, RecordedMessage,
    RecordedParts, StreamWrite, ndjson, same_json,
};
use uuid::Uuid;

use super::fixture::{ANY, message, name, stream, write};
use super::{Json, Subject};

fn with(data: &str, metadata: Option<&str>) -> Message {
    let builder = Message::builder("Happened").data_json(data);
    match metadata {
        Some(metadata) => builder.metadata_json(metadata),
        None => builder,
    }
    .build()
    .unwrap()
}

/// Writes the text as data and as metadata, and asserts that both round-trip.
async fn assert_round_trip(store: &Subject<impl MessageStore>, text: &str) {
    write(&**store, "account-1", with(text, Some(text))).await;
    let stored = last(store).await;
    for found in [stored.data_json(), stored.metadata_json().unwrap()] {
        match store.json {
            Json::Bytes => assert_eq!(found, text),
            Json::Values => assert!(same_json(found, text), "{found} for {text}"),
        }
    }
}

async fn last(store: &Subject<impl MessageStore>) -> RecordedMessage {
    let last = store
        .get_last_stream_message(&name("account-1"), None)
        .await;
    last.unwrap().unwrap()
}

pub(super) async fn json_round_trips(store: &Subject<impl MessageStore>) {
    for text in [
        "null",
        "true",
        "\"\"",
        "[]",
        "{}",
        " { \"b\" : 1 , \"a\" : [ 1.50, -0.0 ] }\n",
        r#"{"a":1,"a":{"a":2},"a":3}"#,
        r#"{"é😀":"\u00e9\ud83d\ude00\n\"\\\/"}"#,
        r#"{"';":"'); DROP TABLE messages; --"}"#,
    ] {
        assert_round_trip(store, text).await;
    }
}

pub(super) async fn integers_of_any_size_round_trip(store: &Subject<impl MessageStore>) {
    for text in [
        "9007199254740993",
        "-9223372036854775809",
        "18446744073709551617",
        "123456789012345678901234567890.123456789012345678901234567890",
    ] {
        assert_round_trip(store, text).await;
        assert_eq!(last(store).await.data_json(), text);
    }
}

pub(super) async fn large_payloads_round_trip(store: &Subject<impl MessageStore>) {
    // Sizes around the threshold at which a backend compresses, and far above it.
    for size in [2040, 2047, 2048, 2049, 2050, 100_000] {
        let words = "sixteen letters ".repeat(size / 16 + 1);
        assert_round_trip(store, &format!("\"{}\"", &words[..size - 2])).await;
        let mut noise = conformance_suite::Random::new(size as u64);
        let numbers: Vec<u64> = (0..size / 20).map(|_| noise.number()).collect();
        assert_round_trip(store, &serde_json::to_string(&numbers).unwrap()).await;
    }
    assert_eq!(stream(&**store, "account-1").await.len(), 12);
}

pub(super) async fn text_of_any_characters_round_trips(store: &Subject<impl MessageStore>) {
    for text in [
        "\u{1}\u{7f}",
        "\u{feff}\u{202e}",
        "e\u{301} 🏴‍☠️",
        "%_'\"`\\;--/*",
    ] {
        let written = Message::builder("Happened").data(text).build().unwrap();
        write(&**store, "account-1", written).await;
        assert_eq!(last(store).await.data::<String>().unwrap(), text);
    }
}

pub(super) async fn absent_and_null_metadata_round_trip(store: &Subject<impl MessageStore>) {
    write(&**store, "account-1", message(0)).await;
    assert_eq!(last(store).await.metadata_json(), None);
    write(&**store, "account-1", with("1", Some("null"))).await;
    assert_eq!(last(store).await.metadata_json(), Some("null"));
}

pub(super) async fn escaped_nul_is_kept_or_refused(store: &Subject<impl MessageStore>) {
    let nul = r#"{"a":"b\u0000c"}"#;
    match store.json {
        Json::Bytes => assert_round_trip(store, nul).await,
        Json::Values => {
            let account = name("account-1");
            let refused = store.write_message(&account, with(nul, None), ANY).await;
            assert_refused!(refused, Error::Invalid { field, .. } if field.ends_with("data"));
            let refused = store
                .write_message(&account, with("1", Some(nul)), ANY)
                .await;
            assert_refused!(refused, Error::Invalid { field, .. } if field.ends_with("metadata"));
            let recorded = RecordedMessage::new(RecordedParts {
                id: Uuid::from_u128(1),
                stream_name: "account-1",
                message_type: "Happened",
                position: Position::START,
                global_position: GlobalPosition::START,
                data: nul,
                metadata: None,
                time_us: 0,
            });
            let refused = store.import_messages(vec![recorded]).await;
            assert_refused!(refused, Error::Invalid { field, .. } if field == "messages[0].data");
            let line = format!(
                r#"{{"id":"{}","stream":"a-1","type":"T","pos":0,"gpos":1,"data":1,"meta":{nul},"time":"2026-01-02T03:04:05Z"}}"#,
                Uuid::from_u128(1),
            );
            let refused = ndjson::import(&***store, format!("\n{line}").as_bytes(), |_| {}).await;
            assert_refused!(
                refused,
                Error::Import { line: 2, source } if source.to_string().starts_with("metadata ")
            );
            assert!(stream(&**store, "account-1").await.is_empty());
        }
    }
    // After a backslash, `\u0000` is ordinary text.
    assert_round_trip(store, r#""\\u0000""#).await;
}

/// A backend that stores numbers by value could expand a few bytes to gigabytes in a read. Then
/// later messages could not be read either.
pub(super) async fn numbers_with_large_exponents_are_kept_or_refused(
    store: &Subject<impl MessageStore>,
) {
    for (number, count) in [("1e131000", 10_000), ("-7.5E-16000", 100_000)] {
        let text = format!("[{}]", vec![number; count].join(","));
        match store.json {
            Json::Bytes => assert_round_trip(store, &text).await,
            Json::Values => {
                let account = name("account-1");
                let refused = store.write_message(&account, with(&text, None), ANY).await;
                assert_refused!(
                    refused,
                    Error::Invalid { field, problem: Problem::TooLarge { .. } } if field == "data"
                );
            }
        }
    }
    assert_round_trip(store, r#"[1e300, -2.5E-300, "1e131000 \" 1e131000"]"#).await;
    assert!(!stream(&**store, "account-1").await.is_empty());
}

/// PostgreSQL has such limits. Its own error would not tell the caller which message to correct.
pub(super) async fn numbers_with_too_many_digits_are_kept_or_refused(
    store: &Subject<impl MessageStore>,
) {
    let integer = "7".repeat(131_073);
    let fraction = format!("0.{}", "7".repeat(16_384));
    for number in ["1e200000", "-0.5E-16383", &integer, &fraction] {
        let text = format!(r#"{{"n": {number}}}"#);
        match store.json {
            Json::Bytes => assert_round_trip(store, &text).await,
            Json::Values => assert_digits_are_refused(store, &text).await,
        }
    }
    let integer = "7".repeat(131_072);
    let fraction = format!("0.{}", "7".repeat(16_383));
    for number in ["1e131071", "-5E-16383", &integer, &fraction] {
        assert_round_trip(store, &format!(r#"{{"n": {number}}}"#)).await;
    }
}

/// Each way to write names the field, and stores nothing.
async fn assert_digits_are_refused(store: &Subject<impl MessageStore>, text: &str) {
    let account = name("account-1");
    let before = stream(&**store, "account-1").await.len();
    let good = || with("1", None);
    let refused = store.write_message(&account, with(text, None), ANY).await;
    assert_refused!(
        refused,
        Error::Invalid { field, problem: Problem::TooManyDigits } if field == "data"
    );
    let batch = vec![good(), with("1", Some(text))];
    let refused = store.write_batch(&account, batch, ANY).await;
    assert_refused!(
        refused,
        Error::Invalid { field, problem: Problem::TooManyDigits } if field == "messages[1].metadata"
    );
    let streams = vec![
        StreamWrite::new(name("account-2"), good()),
        StreamWrite::new(account.clone(), with(text, None)),
    ];
    let refused = store.write_streams(streams).await;
    assert_refused!(
        refused,
        Error::Invalid { field, problem: Problem::TooManyDigits } if field == "streams[1].messages[0].data"
    );
    let line = format!(
        r#"{{"id":"{}","stream":"a-1","type":"T","pos":0,"gpos":1,"data":{text},"time":"2026-01-02T03:04:05Z"}}"#,
        Uuid::from_u128(1),
    );
    let refused = ndjson::import(&***store, line.as_bytes(), |_| {}).await;
    assert_refused!(
        refused,
        Error::Import { line: 1, source } if source.to_string().starts_with("data ")
    );
    assert_eq!(stream(&**store, "account-1").await.len(), before);
    assert!(stream(&**store, "account-2").await.is_empty());
}
