use super::Subject;
use super::fixture::{at, fill, message, name, numbers, positions, stream, write};
use crate::{Message, MessageStore, StreamRead};

async fn read(store: &Subject<impl MessageStore>, read: StreamRead) -> Vec<u64> {
    let messages = store.get_stream_messages(&name("account-1"), read).await;
    positions(&messages.unwrap())
}

pub(super) async fn a_stream_that_is_not_there_has_no_messages(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1).await;
    assert!(stream(&**store, "account-2").await.is_empty());
    assert!(stream(&**store, "account-11").await.is_empty());
}

pub(super) async fn reads_begin_at_a_position_inclusive(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 5).await;
    assert_eq!(read(store, StreamRead::new()).await, [0, 1, 2, 3, 4]);
    assert_eq!(read(store, StreamRead::new().position(at(3))).await, [3, 4]);
    assert!(
        read(store, StreamRead::new().position(at(5)))
            .await
            .is_empty()
    );
}

pub(super) async fn reads_end_at_the_batch_size(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1001).await;
    assert_eq!(read(store, StreamRead::new()).await.len(), 1000);
    let two = StreamRead::new().position(at(7)).batch_size(2);
    assert_eq!(read(store, two).await, [7, 8]);
    assert!(
        read(store, StreamRead::new().batch_size(0))
            .await
            .is_empty()
    );
}

pub(super) async fn all_means_all(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 1200).await;
    let all = StreamRead::new().position(at(1)).batch_size(None);
    assert_eq!(read(store, all).await, (1..1200).collect::<Vec<_>>());
}

pub(super) async fn extreme_numbers_are_legal(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 2).await;
    for beyond in [i64::MAX as u64, u64::MAX] {
        assert!(
            read(store, StreamRead::new().position(at(beyond)))
                .await
                .is_empty()
        );
        assert_eq!(
            read(store, StreamRead::new().batch_size(beyond)).await,
            [0, 1]
        );
    }
}

pub(super) async fn the_last_message_may_be_asked_by_type(store: &Subject<impl MessageStore>) {
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

pub(super) async fn the_version_is_the_last_position(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    assert_eq!(store.stream_version(&account).await.unwrap(), None);
    fill(&**store, "account-1", 3).await;
    assert_eq!(store.stream_version(&account).await.unwrap(), Some(at(2)));
}
