//! Export and import of JSON lines.

use dcb_core::ndjson::{Exported, ImportOptions, Imported, export, import};
use dcb_core::{
    Bookmark, Error, Event, EventStore, MemoryStore, Position, Query, ReadOptions, SequencedEvent,
};
use uuid::Uuid;

use crate::support::events::{event, whole_log};

/// Events with special characters, significant order and arbitrary bytes.
pub(super) fn hard_events() -> Vec<Event> {
    let data: [&[u8]; 11] = [
        br#"{"b":1,"a":2,"a":3,"big":123456789012345678901234567890,"f":1.0}"#,
        b"{\n  \"pretty\": true\n}",
        b" {\"spaced\":1} ",
        b"[\r\n]",
        b"null",
        b"",
        b"\x00\xff\xfe not text",
        b"not JSON",
        br#""a \"text\" with \\ and \u00e9""#,
        "{\"é\":\"\u{2028}\"}".as_bytes(),
        b"-0",
    ];
    let build = |(index, data): (usize, &&[u8])| {
        Event::builder(format!("Type \"{index}\" ü"))
            .tag("a\"b")
            .tag("a\\b")
            .tag(format_args!("key:{index}"))
            .metadata("zeta", "1")
            .metadata("alpha", "line\nbreak \"quoted\"")
            .data(*data)
            .build()
            .unwrap()
    };
    let mut events: Vec<Event> = data.iter().enumerate().map(build).collect();
    events.push(Event::builder("Bare").build().unwrap());
    events
}

pub(super) async fn exported(store: &impl EventStore) -> Vec<u8> {
    let mut lines = Vec::new();
    let all = Query::all();
    export(store, &all, ReadOptions::new(), &mut lines, |_| ())
        .await
        .unwrap();
    lines
}

pub(super) async fn imported(store: &impl EventStore, lines: &[u8]) {
    import(store, lines, ImportOptions::new(), |_| ())
        .await
        .unwrap();
}

pub(super) fn assert_same(left: &[SequencedEvent], right: &[SequencedEvent]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left.position(), right.position());
        assert_eq!(left.id(), right.id());
        assert_eq!(left.event_type(), right.event_type());
        assert!(left.tags().eq(right.tags()), "{left:?} {right:?}");
        assert!(left.metadata().eq(right.metadata()), "{left:?} {right:?}");
        assert_eq!(left.data(), right.data());
        assert_eq!(left.recorded_at(), right.recorded_at());
    }
}

#[tokio::test]
async fn every_line_is_one_json_object() {
    let store = MemoryStore::new();
    store.append(hard_events()).await.unwrap();
    let lines = exported(&store).await;
    let text = String::from_utf8(lines).unwrap();
    assert_eq!(text.lines().count(), hard_events().len());
    for (index, line) in text.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["position"], index + 1);
        let recorded_at = line["recordedAt"].as_str().unwrap();
        assert!(recorded_at.ends_with('Z'), "{recorded_at}");
        let inline = line.get("data").is_some();
        assert_ne!(inline, line.get("dataBase64").is_some());
    }
}

#[tokio::test]
async fn repeated_import_appends_only_missing_events() {
    let source = MemoryStore::new();
    for number in 0..50 {
        let event = event("Numbered", &[&format!("number:{number}")]);
        source.append(event).await.unwrap();
    }
    let lines = exported(&source).await;
    let text = String::from_utf8(lines.clone()).unwrap();
    let part: Vec<&str> = text.split_inclusive('\n').take(17).collect();

    let target = MemoryStore::new();
    imported(&target, part.concat().as_bytes()).await;
    let options = ImportOptions::new().batch_events(20);
    let mut reports = Vec::new();
    let done = import(&target, &lines[..], options, |so_far| {
        reports.push(so_far.events);
    });
    assert_eq!(done.await.unwrap(), Imported { events: 50 });
    assert_eq!(reports, [20, 40, 50]);
    imported(&target, &lines).await;
    assert_same(&whole_log(&source).await, &whole_log(&target).await);
}

#[tokio::test]
async fn export_reports_progress_and_can_be_resumed() {
    let store = MemoryStore::new();
    for _ in 0..3 {
        let events = vec![event("Happened", &["a"]); 1000];
        store.append(events).await.unwrap();
    }
    let (mut lines, mut reports) = (Vec::new(), Vec::new());
    let tag = Query::builder().tag("a").build().unwrap();
    let options = ReadOptions::new().after(Position::new(500).map(Bookmark::from));
    let report = |so_far: Exported| reports.push(so_far);
    export(&store, &tag, options, &mut lines, report)
        .await
        .unwrap();
    let at = |events, through| Exported {
        events,
        through: Position::new(through),
        head: Position::new(3000),
    };
    assert_eq!(reports, [at(1000, 1500), at(2000, 2500), at(2500, 3000)]);
}

#[tokio::test]
async fn line_needs_only_a_type() {
    let store = MemoryStore::new();
    let lines = "{\"type\":\"Happened\"}\n\n{\"type\":\"Happened\",\"data\":[1, 2]}";
    imported(&store, lines.as_bytes()).await;
    let log = whole_log(&store).await;
    assert_eq!(log.len(), 2);
    assert_eq!(log[1].data(), b"[1, 2]");
}

/// As `/dcb/append` takes them. An event and its command have the same kind of metadata.
#[tokio::test]
async fn numbers_and_booleans_in_metadata_are_taken_as_their_text() {
    let store = MemoryStore::new();
    let lines = r#"{"type":"A","metadata":{"z":4,"a":-1.50,"b":true,"c":"\"x\"","d":"4"},"command":{"events":1,"type":"C","metadata":{"n":1e3}}}"#;
    imported(&store, lines.as_bytes()).await;
    let log = whole_log(&store).await;
    let entries: Vec<_> = log[0].metadata().collect();
    let expected = [
        ("z", "4"),
        ("a", "-1.50"),
        ("b", "true"),
        ("c", "\"x\""),
        ("d", "4"),
    ];
    assert_eq!(entries, expected);
    let commands = store.commands(None, 10).await.unwrap();
    let entries: Vec<_> = commands[0].command().metadata().collect();
    assert_eq!(entries, [("n", "1e3")]);
}

#[tokio::test]
async fn invalid_line_is_named_by_its_number() {
    let id = Uuid::from_u128(1);
    for (bad, reason) in [
        ("{\"type\":\"A\"", "EOF"),
        ("{\"tags\":[]}", "type"),
        ("{\"type\":\"\"}", "type is empty"),
        ("{\"type\":\"A\",\"tagz\":[]}", "tagz"),
        ("{\"type\":\"A\",\"dataBase64\":\"?\"}", "Invalid"),
        ("{\"type\":\"A\",\"data\":1,\"dataBase64\":\"\"}", "both"),
        (
            "{\"type\":\"A\",\"metadata\":{\"a\":\"1\",\"a\":\"2\"}}",
            "twice",
        ),
        (
            "{\"type\":\"A\",\"metadata\":{\"a\":null}}",
            "expected a string, a number or a boolean",
        ),
    ] {
        let store = MemoryStore::new();
        let lines = format!("{{\"type\":\"A\",\"id\":\"{id}\"}}\n{bad}\n");
        let failed = import(&store, lines.as_bytes(), ImportOptions::new(), |_| ()).await;
        match failed {
            Err(Error::Import { entry, source }) => {
                assert_eq!(entry, "line 2");
                assert!(source.to_string().contains(reason), "{bad}: {source}");
            }
            other => panic!("{bad}: {other:?}"),
        }
    }
}

/// The error names the line, because the file itself could be read.
#[tokio::test]
async fn line_with_invalid_utf8_is_named_by_its_number() {
    let store = MemoryStore::new();
    let lines = b"{\"type\":\"A\"}\n\n{\"type\":\"\xff\"}\n";
    let failed = import(&store, &lines[..], ImportOptions::new(), |_| ()).await;
    assert!(
        matches!(&failed, Err(Error::Import { entry, .. }) if entry == "line 3"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn import_of_an_id_with_other_content_is_refused() {
    let store = MemoryStore::new();
    let id = Uuid::from_u128(1);
    let other = event("Other", &[]).with_id(id);
    store.append(other).await.unwrap();
    let lines = format!("{{\"type\":\"A\"}}\n{{\"type\":\"A\",\"id\":\"{id}\"}}\n");
    let refused = import(&store, lines.as_bytes(), ImportOptions::new(), |_| ()).await;
    assert!(matches!(refused, Err(Error::DuplicateId { id: taken }) if taken == id));
}

/// Input whose connection breaks.
struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ConnectionReset.into())
    }
}

#[tokio::test]
async fn failed_read_keeps_the_kind_of_its_error() {
    let input = std::io::BufReader::new(Broken);
    let failed = import(&MemoryStore::new(), input, ImportOptions::new(), |_| ()).await;
    assert!(
        matches!(&failed, Err(Error::Io { source })
            if source.kind() == std::io::ErrorKind::ConnectionReset),
        "{failed:?}"
    );
}
