use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::Subject;
use super::fixture::{
    all, category, exactly, fill, message, name, numbers, position_at, positions, stream, write,
};
use message_store::{GlobalPosition, MessageStore, Position, RecordedMessage, RecordedParts};

/// Stores messages with these streams, positions and times. A time is in seconds after the returned
/// start, which is one hour ago.
async fn recorded(store: &Subject<impl MessageStore>, streams: &[(&str, u64, i64)]) -> SystemTime {
    let start = SystemTime::now() - Duration::from_secs(3600);
    let start_us = start
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_micros() as i64;
    let messages = (1..)
        .zip(streams)
        .map(|(number, &(stream_name, position, second))| {
            RecordedMessage::new(RecordedParts {
                id: Uuid::from_u128(number.into()),
                stream_name,
                message_type: "Happened",
                position: Position::new(position),
                global_position: GlobalPosition::new(number),
                data: "0",
                metadata: None,
                time_us: start_us + second * 1_000_000,
            })
        });
    store.import_messages(messages.collect()).await.unwrap();
    start
}

pub(super) async fn stream_is_truncated_before_position(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 6).await;
    fill(&**store, "account-2", 6).await;
    assert_eq!(
        store
            .truncate_stream(&name("account-1"), position_at(4))
            .await
            .unwrap(),
        4
    );
    assert_eq!(numbers(&stream(&**store, "account-1").await), [4, 5]);
    assert_eq!(stream(&**store, "account-2").await.len(), 6);
    assert_eq!(
        store
            .truncate_stream(&name("account-1"), position_at(2))
            .await
            .unwrap(),
        0
    );
    assert_eq!(
        store
            .truncate_stream(&name("account-3"), position_at(2))
            .await
            .unwrap(),
        0
    );
}

pub(super) async fn truncation_keeps_last_message(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 3).await;
    for before in [position_at(3), position_at(100), position_at(u64::MAX)] {
        store
            .truncate_stream(&name("account-1"), before)
            .await
            .unwrap();
        assert_eq!(positions(&stream(&**store, "account-1").await), [2]);
    }
}

pub(super) async fn write_after_truncation_continues_stream(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    let written = fill(&**store, "account-1", 3).await;
    store
        .truncate_stream(&account, position_at(3))
        .await
        .unwrap();
    assert_eq!(
        store.stream_version(&account).await.unwrap(),
        Some(position_at(2))
    );
    let next = store
        .write_message(&account, message(3), exactly(2))
        .await
        .unwrap();
    assert_eq!(next.position, position_at(3));
    assert!(next.global_position > written[2].global_position);
    assert_eq!(numbers(&all(&**store).await), [2, 3]);
}

pub(super) async fn old_messages_expire(store: &Subject<impl MessageStore>) {
    let messages = [("a-1", 0, 0), ("b-1", 0, 1), ("a-1", 1, 2), ("a-1", 2, 3)];
    let start = recorded(store, &messages).await;
    let before = start + Duration::from_secs(2);
    assert_eq!(
        store.expire_messages(&category(""), before).await.unwrap(),
        1
    );
    assert_eq!(positions(&stream(&**store, "a-1").await), [1, 2]);
    assert_eq!(positions(&stream(&**store, "b-1").await), [0]);
    let now = SystemTime::now() + Duration::from_secs(3600);
    assert_eq!(store.expire_messages(&category(""), now).await.unwrap(), 1);
    assert_eq!(positions(&stream(&**store, "a-1").await), [2]);
}

pub(super) async fn expiry_leaves_no_gap(store: &Subject<impl MessageStore>) {
    // The clock was set back after the second message.
    let messages = [
        ("a-1", 0, 0),
        ("a-1", 1, 60),
        ("a-1", 2, 30),
        ("a-1", 3, 90),
    ];
    let start = recorded(store, &messages).await;
    let before = start + Duration::from_secs(45);
    assert_eq!(
        store.expire_messages(&category("a"), before).await.unwrap(),
        1
    );
    assert_eq!(positions(&stream(&**store, "a-1").await), [1, 2, 3]);
}

pub(super) async fn expiry_affects_only_its_category(store: &Subject<impl MessageStore>) {
    for stream in ["a-1", "a-2", "aa-1", "a:x-1", "A-1"] {
        fill(&**store, stream, 3).await;
    }
    write(&**store, "a-2", message(3)).await;
    let later = SystemTime::now() + Duration::from_secs(3600);
    assert_eq!(
        store.expire_messages(&category("a"), later).await.unwrap(),
        5
    );
    assert_eq!(positions(&stream(&**store, "a-2").await), [3]);
    for untouched in ["aa-1", "a:x-1", "A-1"] {
        assert_eq!(stream(&**store, untouched).await.len(), 3);
    }
}

pub(super) async fn extreme_times_are_accepted(store: &Subject<impl MessageStore>) {
    fill(&**store, "a-1", 3).await;
    let (millennia, ages) = (Duration::from_secs(1 << 38), Duration::from_secs(1 << 44));
    for (before, deleted) in [
        (SystemTime::UNIX_EPOCH - millennia, 0),
        (SystemTime::UNIX_EPOCH - ages, 0),
        (SystemTime::UNIX_EPOCH + ages, 2),
    ] {
        let expired = store.expire_messages(&category("a"), before).await;
        assert_eq!(expired.unwrap(), deleted);
    }
    assert_eq!(positions(&stream(&**store, "a-1").await), [2]);
}
