use conformance_suite::assert_refused;
use message_store::{Error, MessageStore, RecordedMessage, RecordedParts};
use uuid::Uuid;

use super::Subject;
use super::fixture::{all, fill, global, message, name, position_at, positions, stream, write};

/// A message with this stream, position and global position. The id is derived from the global
/// position.
fn recorded(stream_name: &str, position: u64, global_position: u64) -> RecordedMessage {
    let parts = RecordedParts {
        id: Uuid::from_u128(global_position.into()),
        stream_name,
        message_type: "Happened",
        position: position_at(position),
        global_position: global(global_position),
        data: r#"{"a":1}"#,
        metadata: Some(r#"{"b":2}"#),
        time_us: 1_600_000_000_123_456,
    };
    RecordedMessage::new(parts)
}

pub(super) async fn import_keeps_positions(store: &Subject<impl MessageStore>) {
    let messages = vec![
        recorded("a-1", 0, 3),
        recorded("b-1", 0, 4),
        recorded("a-1", 1, 10),
    ];
    assert_eq!(store.import_messages(messages.clone()).await.unwrap(), 3);
    let stored = all(&**store).await;
    for (stored, message) in stored.iter().zip(&messages) {
        assert_eq!(stored.id(), message.id());
        assert_eq!(stored.stream_name(), message.stream_name());
        assert_eq!(stored.position(), message.position());
        assert_eq!(stored.global_position(), message.global_position());
        assert_eq!(stored.time(), message.time());
        assert!(message_store::same_json(
            stored.data_json(),
            message.data_json()
        ));
    }
    assert_eq!(stored.len(), 3);
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(global(10))
    );
}

pub(super) async fn import_skips_stored_messages(store: &Subject<impl MessageStore>) {
    let messages = vec![recorded("a-1", 0, 3), recorded("b-1", 0, 4)];
    store.import_messages(messages.clone()).await.unwrap();
    let more = [messages, vec![recorded("a-1", 1, 5)]].concat();
    assert_eq!(store.import_messages(more.clone()).await.unwrap(), 1);
    assert_eq!(store.import_messages(more).await.unwrap(), 0);
    assert_eq!(store.import_messages(Vec::new()).await.unwrap(), 0);
    assert_eq!(all(&**store).await.len(), 3);
    // An import also skips a message that it has stored itself.
    let twice = vec![recorded("a-1", 2, 6), recorded("a-1", 2, 6)];
    assert_eq!(store.import_messages(twice).await.unwrap(), 1);
    assert_eq!(all(&**store).await.len(), 4);
}

pub(super) async fn import_that_does_not_continue_is_refused(store: &Subject<impl MessageStore>) {
    // Global positions begin at 1.
    let before_all = vec![recorded("b-1", 0, 0), recorded("b-1", 1, 1)];
    let refused = store.import_messages(before_all).await;
    assert_refused!(
        refused,
        Error::ImportConflict { global_position, .. } if global_position.get() == 0
    );
    store
        .import_messages(vec![recorded("a-1", 0, 3)])
        .await
        .unwrap();
    for (wrong, refused_at) in [
        (vec![recorded("b-1", 0, 2)], 2),
        (vec![recorded("b-1", 0, 3)], 3),
        (vec![recorded("a-1", 2, 4)], 4),
        (vec![recorded("a-1", 0, 4)], 4),
        (vec![recorded("b-1", 0, 5), recorded("b-1", 1, 4)], 4),
        (vec![recorded("b-1", 0, 5), recorded("b-1", 1, 5)], 5),
    ] {
        let refused = store.import_messages(wrong).await;
        assert_refused!(
            refused,
            Error::ImportConflict { global_position, .. } if global_position.get() == refused_at
        );
        assert_eq!(all(&**store).await.len(), 1);
    }
    let taken = Uuid::from_u128(3);
    let empty = store.import_messages(vec![recorded("b-1", 0, 4)]).await;
    assert_eq!(empty.unwrap(), 1);
    let written = write(&**store, "c-1", message(0)).await;
    let next = written.global_position.get() + 1;
    let parts = recorded("d-1", 0, next);
    let with_taken_id = RecordedMessage::new(RecordedParts {
        id: taken,
        stream_name: parts.stream_name(),
        message_type: parts.message_type(),
        position: parts.position(),
        global_position: parts.global_position(),
        data: parts.data_json(),
        metadata: None,
        time_us: parts.time_us(),
    });
    let refused = store.import_messages(vec![with_taken_id]).await;
    assert_refused!(refused, Error::ImportConflict { .. });
}

pub(super) async fn imported_stream_begins_at_any_position(store: &Subject<impl MessageStore>) {
    store
        .import_messages(vec![recorded("a-1", 7, 3)])
        .await
        .unwrap();
    assert_eq!(
        store.stream_version(&name("a-1")).await.unwrap(),
        Some(position_at(7))
    );
    fill(&**store, "a-1", 1).await;
    assert_eq!(positions(&stream(&**store, "a-1").await), [7, 8]);
}

pub(super) async fn write_after_import_continues_after_head(store: &Subject<impl MessageStore>) {
    fill(&**store, "a-1", 1).await;
    store
        .import_messages(vec![recorded("b-1", 0, 1000)])
        .await
        .unwrap();
    let written = write(&**store, "b-1", message(0)).await;
    assert_eq!(written.position, position_at(1));
    assert!(written.global_position > global(1000));
    assert_eq!(all(&**store).await.len(), 3);
}

pub(super) async fn import_at_maximum_position_is_refused(store: &Subject<impl MessageStore>) {
    const LAST: u64 = i64::MAX as u64;
    for refused in [
        recorded("a-1", 0, LAST),
        recorded("a-1", LAST, 1),
        recorded("a-1", 0, u64::MAX),
        recorded("a-1", u64::MAX, 1),
    ] {
        let refused = store.import_messages(vec![refused]).await;
        assert_refused!(refused, Error::ImportConflict { .. });
    }
    let last_but_one = vec![recorded("a-1", LAST - 1, LAST - 1)];
    assert_eq!(store.import_messages(last_but_one).await.unwrap(), 1);
    let written = write(&**store, "a-1", message(0)).await;
    assert_eq!(written.position, position_at(LAST));
    assert_eq!(written.global_position, global(LAST));
}
