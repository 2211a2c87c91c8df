use std::io::BufReader;

use message_store::sqlite::{BlockingSqliteStore, Config, SqliteStore};
use message_store::{
    Category, Error, ExpectedVersion, Message, MessageStore, Position, RecordedMessage, ndjson,
};

use crate::support::sqlite::{all, messages, stream_name};

async fn empty() -> SqliteStore {
    SqliteStore::open(Config::memory()).await.unwrap()
}

/// A store with more than one page of messages. Rewriting their JSON in any way would change it.
async fn filled() -> SqliteStore {
    let store = empty().await;
    for stream in ["a-1", "b-1", "ä-'\"\\"] {
        store
            .write_batch(&stream_name(stream), messages(700), ExpectedVersion::Any)
            .await
            .unwrap();
    }
    for (data, metadata) in [
        (r#"{"b":1.50,"a":9007199254740993,"a":2}"#, None),
        ("[ 1 ,2 ]", Some("null")),
        (
            r#""\n\u0000 é""#,
            Some(r#"{"correlationStreamName":"x-1"}"#),
        ),
    ] {
        let mut builder = Message::builder("Type \"x\"").data_json(data);
        if let Some(metadata) = metadata {
            builder = builder.metadata_json(metadata);
        }
        let message = builder.build().unwrap();
        store
            .write_message(&stream_name("a-1"), message, ExpectedVersion::Any)
            .await
            .unwrap();
    }
    store
        .truncate_stream(&stream_name("b-1"), Position::new(10))
        .await
        .unwrap();
    store
}

async fn export(store: &SqliteStore, options: ndjson::ExportOptions) -> Vec<u8> {
    let mut output = Vec::new();
    let mut progress = Vec::new();
    let exported = ndjson::export(store, &mut output, options, |count| progress.push(count)).await;
    assert_eq!(
        progress.last().copied().unwrap_or_default(),
        exported.unwrap()
    );
    assert!(progress.is_sorted());
    output
}

async fn import(store: &SqliteStore, input: &[u8]) -> Result<ndjson::Imported, Error> {
    ndjson::import(store, BufReader::new(input), |_| {}).await
}

fn contents(store: &SqliteStore) -> Vec<RecordedMessage> {
    all(store.blocking())
}

#[tokio::test]
async fn exported_messages_import_unchanged() {
    let store = filled().await;
    for gzip in [false, true] {
        let mut options = ndjson::ExportOptions::default();
        options.gzip = gzip;
        let exported = export(&store, options).await;
        let copy = empty().await;
        let imported = import(&copy, &exported).await.unwrap();
        assert_eq!(
            imported,
            ndjson::Imported {
                read: 2093,
                stored: 2093
            }
        );
        assert_eq!(contents(&copy), contents(&store));
        let again = import(&copy, &exported).await.unwrap();
        assert_eq!(
            again,
            ndjson::Imported {
                read: 2093,
                stored: 0
            }
        );
    }
}

#[tokio::test]
async fn export_of_category_has_only_its_messages() {
    let store = filled().await;
    let mut options = ndjson::ExportOptions::default();
    options.category = Category::new("b").unwrap();
    let exported = String::from_utf8(export(&store, options).await).unwrap();
    assert_eq!(exported.lines().count(), 690);
    assert!(
        exported
            .lines()
            .all(|line| line.contains(r#""stream":"b-1""#))
    );
    let nothing = export(&empty().await, ndjson::ExportOptions::default()).await;
    assert!(nothing.is_empty());
}

#[tokio::test]
async fn exported_line_has_fields_of_format() {
    let line = r#"{"id":"00000000-0000-0000-0000-000000000007","stream":"a-1","type":"T","pos":3,"gpos":9,"data":{"a": 1},"meta":{"b":2},"time":"2026-01-02T03:04:05.678901Z"}"#;
    let store = empty().await;
    import(&store, format!("\n{line}\r\n").as_bytes())
        .await
        .unwrap();
    let exported = export(&store, ndjson::ExportOptions::default()).await;
    assert_eq!(String::from_utf8(exported).unwrap(), format!("{line}\n"));
}

#[tokio::test]
async fn line_feeds_in_json_are_exported_as_spaces() {
    let store = empty().await;
    let pretty = Message::builder("T")
        .data_json("{\n  \"a\": \"\\n\"\r\n}")
        .build()
        .unwrap();
    store
        .write_message(&stream_name("a-1"), pretty, ExpectedVersion::Any)
        .await
        .unwrap();
    let copy = empty().await;
    import(
        &copy,
        &export(&store, ndjson::ExportOptions::default()).await,
    )
    .await
    .unwrap();
    assert_eq!(contents(&copy)[0].data_json(), "{   \"a\": \"\\n\"  }");
}

#[tokio::test]
async fn invalid_line_is_reported_by_number() {
    let good = |gpos: u64, data: &str| {
        format!(
            r#"{{"id":"00000000-0000-0000-0000-0000000000{gpos:02}","stream":"a-1","type":"T","pos":{},"gpos":{gpos},"data":{data},"time":"2026-01-02T03:04:05Z"}}"#,
            gpos - 1
        )
    };
    let deep = "[".repeat(200) + &"]".repeat(200);
    for wrong in [
        "{",
        "[]",
        "{}",
        &good(2, "{\"a\":}"),
        &good(2, &deep),
        "\u{feff}{}",
    ] {
        let input = format!("{}\n\n{wrong}\n", good(1, "1"));
        let refused = import(&empty().await, input.as_bytes()).await;
        assert!(
            matches!(refused, Err(Error::Import { line: 3, .. })),
            "{refused:?}"
        );
    }
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let cut = &good(1, "1").into_bytes()[..20];
    let refused = import(&SqliteStore::from(store), cut).await;
    assert!(matches!(refused, Err(Error::Import { line: 1, .. })));
}

#[tokio::test]
async fn gzip_is_detected_from_single_byte_reads() {
    let store = filled().await;
    let mut options = ndjson::ExportOptions::default();
    options.gzip = true;
    let exported = export(&store, options).await;
    let copy = empty().await;
    let byte_by_byte = BufReader::with_capacity(1, exported.as_slice());
    let imported = ndjson::import(&copy, byte_by_byte, |_| {}).await;
    assert_eq!(imported.unwrap().stored, 2093);
    assert_eq!(contents(&copy), contents(&store));
}
