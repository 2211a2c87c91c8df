use message_store::{ExpectedVersion, Message};
use rusqlite::Connection;

use crate::support::sqlite::{all, open, stream_name};

#[test]
fn large_payloads_are_compressed_and_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open(&path);
    for size in [10, 2046, 2047, 100_000] {
        let text = format!("\"{}\"", "x".repeat(size));
        let message = Message::builder("Happened")
            .data_json(&text)
            .metadata_json(&text);
        let message = message.build().unwrap();
        store
            .write_message(&stream_name("a-1"), message, ExpectedVersion::Any)
            .unwrap();
        let stored = all(&store).pop().unwrap();
        assert_eq!(stored.data_json(), text);
        assert_eq!(stored.metadata_json(), Some(text.as_str()));
    }
    let raw = Connection::open(&path).unwrap();
    let mut kinds = raw
        .prepare("SELECT typeof(data), length(data) FROM messages")
        .unwrap();
    let kinds = kinds.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    let kinds: Vec<(String, i64)> = kinds.unwrap().map(Result::unwrap).collect();
    assert_eq!(kinds[0], ("text".to_owned(), 12));
    assert_eq!(kinds[1], ("text".to_owned(), 2048));
    for (kind, size) in &kinds[2..] {
        assert_eq!(kind, "blob");
        assert!(*size < 200, "{size}");
    }
}
