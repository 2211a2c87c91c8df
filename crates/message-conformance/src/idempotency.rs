use std::time::Duration;

use conformance_suite::{assert_refused, poll_once};
use message_store::{Error, Message, MessageStore, StreamWrite};
use tokio::time::sleep;
use uuid::Uuid;

use super::Subject;
use super::fixture::{ANY, NO_STREAM, all, exactly, fill, message, name, stream, write};

fn numbered(id: u128) -> Message {
    message(id as u64).with_id(Uuid::from_u128(id))
}

fn with_json(data: &str) -> Message {
    let builder = Message::builder("Happened")
        .id(Uuid::from_u128(1))
        .data_json(data);
    builder.build().unwrap()
}

pub(super) async fn repeated_message_returns_first_position(store: &Subject<impl MessageStore>) {
    let first = write(&**store, "account-1", numbered(1)).await;
    fill(&**store, "account-1", 3).await;
    assert_eq!(write(&**store, "account-1", numbered(1)).await, first);
    assert_eq!(all(&**store).await.len(), 4);
}

pub(super) async fn id_is_checked_before_expected_version(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    let first = store
        .write_message(&account, numbered(1), NO_STREAM)
        .await
        .unwrap();
    for expected in [NO_STREAM, exactly(0), exactly(7)] {
        let again = store.write_message(&account, numbered(1), expected).await;
        assert_eq!(again.unwrap(), first);
    }
    let other = message(2).with_id(Uuid::from_u128(1));
    let refused = store.write_message(&account, other, NO_STREAM).await;
    assert_refused!(refused, Error::DuplicateId { .. });
}

pub(super) async fn repeated_content_is_compared_as_json(store: &Subject<impl MessageStore>) {
    let first = write(
        &**store,
        "account-1",
        with_json(r#"{"a":[1.0,"é"],"b":10}"#),
    )
    .await;
    for same in [
        r#"{ "b" : 1e1, "a" : [ 1, "\u00e9" ] }"#,
        r#"{"b":1,"a":[1,"é"],"b":10}"#,
    ] {
        assert_eq!(
            write(&**store, "account-1", with_json(same)).await,
            first,
            "{same}"
        );
    }
}

pub(super) async fn repeated_message_may_have_another_trace(store: &Subject<impl MessageStore>) {
    let traced = |metadata: Option<&str>| {
        let message = Message::builder("Happened").id(Uuid::from_u128(1));
        let message = metadata
            .into_iter()
            .fold(message, |message, metadata| message.metadata_json(metadata));
        message.build().unwrap()
    };
    let own = r#"{"traceparent":"first","by":"me"}"#;
    let first = write(&**store, "account-1", traced(Some(own))).await;
    for again in [r#"{"by":"me","traceparent":"second"}"#, r#"{ "by":"me"}"#] {
        assert_eq!(
            write(&**store, "account-1", traced(Some(again))).await,
            first
        );
    }
    // All other metadata is content.
    for other in [
        None,
        Some(r#"{"traceparent":"first"}"#),
        Some(r#"{"traceparent":"first","by":"you"}"#),
    ] {
        let refused = store
            .write_message(&name("account-1"), traced(other), ANY)
            .await;
        assert_refused!(refused, Error::DuplicateId { .. });
    }
    let stored = all(&**store).await;
    assert!(
        stored.len() == 1
            && stored[0]
                .metadata_json()
                .is_some_and(|text| text.contains("first"))
    );
}

pub(super) async fn repeated_id_with_other_content_conflicts(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    write(&**store, "account-1", with_json("9007199254740993")).await;
    let id = Uuid::from_u128(1);
    let typed = Message::builder("Other")
        .id(id)
        .data_json("9007199254740993");
    let explained = Message::builder("Happened")
        .id(id)
        .data_json("9007199254740993");
    for other in [
        with_json("9007199254740992"),
        with_json(r#""9007199254740993""#),
        typed.build().unwrap(),
        explained.metadata(&1).build().unwrap(),
    ] {
        let refused = store.write_message(&account, other, ANY).await;
        assert_refused!(refused, Error::DuplicateId { id } if *id == Uuid::from_u128(1));
    }
    assert_eq!(all(&**store).await.len(), 1);
}

pub(super) async fn repeated_id_in_other_stream_conflicts(store: &Subject<impl MessageStore>) {
    write(&**store, "account-1", numbered(1)).await;
    let refused = store
        .write_message(&name("account-2"), numbered(1), ANY)
        .await;
    assert_refused!(refused, Error::DuplicateId { .. });
    assert_eq!(
        store.stream_version(&name("account-2")).await.unwrap(),
        None
    );
}

pub(super) async fn repeated_batch_returns_first_positions(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    let batch = || vec![numbered(1), numbered(2), numbered(3)];
    let first = store
        .write_batch(&account, batch(), NO_STREAM)
        .await
        .unwrap();
    assert_eq!(
        store
            .write_batch(&account, batch(), NO_STREAM)
            .await
            .unwrap(),
        first
    );
    let part = store
        .write_batch(&account, vec![numbered(3), numbered(1)], ANY)
        .await;
    assert_eq!(part.unwrap(), [first[2], first[0]]);
    assert_eq!(write(&**store, "account-1", numbered(2)).await, first[1]);
    assert_eq!(all(&**store).await.len(), 3);
}

pub(super) async fn partly_stored_batch_conflicts(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    write(&**store, "account-1", numbered(2)).await;
    for batch in [
        vec![numbered(1), numbered(2), numbered(3)],
        vec![numbered(2), message(9)],
        vec![message(9), numbered(2)],
    ] {
        let refused = store.write_batch(&account, batch, ANY).await;
        assert_refused!(refused, Error::DuplicateId { id } if *id == Uuid::from_u128(2));
    }
    assert_eq!(all(&**store).await.len(), 1);
    assert_eq!(
        write(&**store, "account-1", message(0))
            .await
            .position
            .get(),
        1
    );
}

pub(super) async fn duplicate_id_in_one_write_conflicts(store: &Subject<impl MessageStore>) {
    let batch = vec![numbered(1), numbered(2), numbered(2)];
    let refused = store.write_batch(&name("account-1"), batch, ANY).await;
    assert_refused!(refused, Error::DuplicateId { id } if *id == Uuid::from_u128(2));
    let writes = vec![
        StreamWrite::new(name("a-1"), numbered(1)),
        StreamWrite::new(name("b-1"), numbered(1)),
    ];
    assert_refused!(store.write_streams(writes).await, Error::DuplicateId { .. });
    assert!(all(&**store).await.is_empty());
}

pub(super) async fn repeated_write_to_several_streams_returns_first_positions(
    store: &Subject<impl MessageStore>,
) {
    let writes = || {
        let two = vec![numbered(1), numbered(2)];
        vec![
            StreamWrite::new(name("a-1"), two).expected_version(NO_STREAM),
            StreamWrite::new(name("b-1"), numbered(3)).expected_version(NO_STREAM),
        ]
    };
    let first = store.write_streams(writes()).await.unwrap();
    assert_eq!(store.write_streams(writes()).await.unwrap(), first);
    assert_eq!(stream(&**store, "a-1").await.len(), 2);
}

/// A caller drops a write, then repeats it, as the documentation advises. The store has the message by
/// then, or a moment later, or never.
pub(super) async fn dropped_write_is_stored_once_when_repeated(store: &Subject<impl MessageStore>) {
    for round in 0..20 {
        let account = format!("account-{round}");
        let stream_name = name(&account);
        let mut dropped = Box::pin(store.write_message(&stream_name, numbered(round), NO_STREAM));
        let ended = poll_once(dropped.as_mut()).await;
        if ended.is_none() && round % 2 == 1 {
            sleep(Duration::from_millis(1)).await;
            poll_once(dropped.as_mut()).await;
        }
        drop(dropped);
        let repeated = store.write_message(&stream_name, numbered(round), NO_STREAM);
        let repeated = repeated.await.unwrap();
        let stored = stream(&**store, &account).await;
        assert_eq!(stored.len(), 1);
        assert_eq!(repeated.global_position, stored[0].global_position());
    }
}
