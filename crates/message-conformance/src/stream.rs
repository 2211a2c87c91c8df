use super::Subject;
use super::fixture::{fill, message, name, numbers, position_at, positions, stream, write};
use message_store::{Message, MessageStore, StreamRead};

async fn read(store: &Subject<impl MessageStore>, read: StreamRead) -> Vec<u64> {
    let messages = store.get_stream_messages(&name("account-1"), read).await;
    positions(&messages.unwrap())
}

pub(super) async fn absent_stream_has_no_messages(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1).await;
    assert!(stream(&**store, "account-2").await.is_empty());
    assert!(stream(&**store, "account-11").await.is_empty());
}

pub(super) async fn read_begins_at_position_inclusive(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 5).await;
    assert_eq!(read(store, StreamRead::new()).await, [0, 1, 2, 3, 4]);
    assert_eq!(
        read(store, StreamRead::new().position(position_at(3))).await,
        [3, 4]
    );
    assert!(
        read(store, StreamRead::new().position(position_at(5)))
            .await
            .is_empty()
    );
}

pub(super) async fn read_ends_at_batch_size(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1001).await;
    assert_eq!(read(store, StreamRead::new()).await.len(), 1000);
    let two = StreamRead::new().position(position_at(7)).batch_size(2);
    assert_eq!(read(store, two).await, [7, 8]);
    assert!(
        read(store, StreamRead::new().batch_size(0))
            .await
            .is_empty()
    );
}

pub(super) async fn read_without_batch_size_returns_all(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1200).await;
    let all = StreamRead::new().position(position_at(1)).batch_size(None);
    assert_eq!(read(store, all).await, (1..1200).collect::<Vec<_>>());
}

pub(super) async fn extreme_numbers_are_accepted(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 2).await;
    for beyond in [i64::MAX as u64, u64::MAX] {
        assert!(
            read(store, StreamRead::new().position(position_at(beyond)))
                .await
                .is_empty()
        );
        assert_eq!(
            read(store, StreamRead::new().batch_size(beyond)).await,
            [0, 1]
        );
    }
}

pub(super) async fn last_message_is_found_by_type(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    assert_eq!(
        store.get_last_stream_message(&account, None).await.unwrap(),
        None
    );
    let opened = Message::builder("Opened").data(&0).build().unwrap();
    write(&**store, "account-1", opened).await;
    write(&**store, "account-1", message(1)).await;
    write(&**store, "account-1", message(2)).await;
    for (message_type, expected) in [
        (None, Some(2)),
        (Some("Happened"), Some(2)),
        (Some("Opened"), Some(0)),
        (Some("opened"), None),
        (Some("%"), None),
        (Some("Happened\0"), None),
    ] {
        let last = store.get_last_stream_message(&account, message_type).await;
        let found = last.unwrap().map(|message| message.data::<u64>().unwrap());
        assert_eq!(found, expected, "{message_type:?}");
    }
    assert_eq!(numbers(&stream(&**store, "account-1").await), [0, 1, 2]);
}

pub(super) async fn version_is_last_position(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    assert_eq!(store.stream_version(&account).await.unwrap(), None);
    fill(&**store, "account-1", 3).await;
    assert_eq!(
        store.stream_version(&account).await.unwrap(),
        Some(position_at(2))
    );
}
