//! A store keeps its facts in a move from each backend to each.

use message_store::sqlite::{Config, SqliteStore};
use message_store::{
    AnyStore, Bookmark, Category, Checkpoint, Error, ExpectedVersion, GlobalPosition, ListStreams,
    Message, MessageStore, Position, RecordedMessage, SubscribeOptions, ndjson,
};
use uuid::Uuid;

use crate::support::postgres::{connect, fresh_database};
use crate::support::{stream_name, whole_category, write};

/// An empty store of each backend. The database of the second lives as long as it.
async fn empty_stores() -> [(AnyStore, Option<local_postgres::Database>); 2] {
    let sqlite = SqliteStore::open(Config::memory()).await.unwrap();
    let database = fresh_database().await;
    let config = message_store::postgres::Config::new(database.url());
    let postgres = AnyStore::Postgres(connect(config).await);
    [(AnyStore::Sqlite(sqlite), None), (postgres, Some(database))]
}

/// Messages of several streams, some deleted, with and without metadata, and consumers at several places.
async fn fill(store: &AnyStore) {
    for number in 0..700 {
        write(store, "account-1", number).await;
    }
    for stream in ["account-2", "ä-'\"\\", "account:command-1"] {
        write(store, stream, 1).await;
    }
    // JSON as PostgreSQL prints it, so that it is the same text in both.
    for (data, metadata) in [
        (r#"{"a": 9007199254740993, "b": 1.50}"#, None),
        ("[1, 2]", Some("null")),
        (r#""\n é""#, Some(r#"{"correlationStreamName": "x-1"}"#)),
    ] {
        let mut builder = Message::builder("Type \"x\"").data_json(data);
        if let Some(metadata) = metadata {
            builder = builder.metadata_json(metadata);
        }
        let message = builder.id(Uuid::now_v7()).build().unwrap();
        let order = stream_name("order-1");
        let written = store.write_message(&order, message, ExpectedVersion::Any);
        written.await.unwrap();
    }
    let messages = whole_category(store, "").await;
    let consumers = [
        ("first", messages[0].bookmark()),
        ("\"ü\" \\", messages[600].bookmark()),
        ("position alone", messages[650].global_position().into()),
        ("last", messages[messages.len() - 1].bookmark()),
        ("at the start", GlobalPosition::new(0).into()),
    ];
    for (consumer, handled) in consumers {
        store.save_checkpoint(consumer, handled).await.unwrap();
    }
    let account = stream_name("account-1");
    let truncated = store.truncate_stream(&account, Position::new(100));
    assert_eq!(truncated.await.unwrap(), 100);
}

async fn exported(store: &AnyStore) -> String {
    let (mut lines, options) = (Vec::new(), ndjson::ExportOptions::default());
    let count = ndjson::export(store, &mut lines, options, |_| ()).await;
    assert_eq!(
        count.unwrap() as usize,
        whole_category(store, "").await.len()
    );
    String::from_utf8(lines).unwrap()
}

async fn imported(store: &AnyStore, lines: &str) -> Result<ndjson::Imported, Error> {
    ndjson::import(store, lines.as_bytes(), |_| ()).await
}

/// The messages that a consumer of all messages still has to handle.
async fn left(store: &AnyStore, consumer: &str) -> Vec<RecordedMessage> {
    let (all, options) = (Category::all(), SubscribeOptions::new());
    let saved = store.checkpoint(consumer).await.unwrap();
    let mut messages = store.subscribe_to_category(all, saved, options);
    let mut left = Vec::new();
    while let Some(message) = messages.try_next().await.unwrap() {
        left.push(message);
    }
    left
}

/// Compares message by message, because the text of a whole list would be long.
fn assert_same(left: &[RecordedMessage], right: &[RecordedMessage]) {
    for (left, right) in left.iter().zip(right) {
        assert_eq!((left, left.time_us()), (right, right.time_us()));
    }
    assert_eq!(left.len(), right.len());
}

/// Compares everything that a store keeps.
async fn assert_same_store(left_store: &AnyStore, right_store: &AnyStore) {
    assert_same(
        &whole_category(left_store, "").await,
        &whole_category(right_store, "").await,
    );
    let streams = async |store: &AnyStore| store.list_streams(ListStreams::new()).await.unwrap();
    assert_eq!(streams(left_store).await, streams(right_store).await);
    let info = async |store: &AnyStore| {
        let info = store.info().await.unwrap();
        (info.stream_count, info.message_count)
    };
    assert_eq!(info(left_store).await, info(right_store).await);
    assert_eq!(
        left_store.head().await.unwrap(),
        right_store.head().await.unwrap()
    );
    let checkpoints = left_store.all_checkpoints().await.unwrap();
    for Checkpoint { consumer, handled } in &checkpoints {
        let there = right_store.checkpoint(consumer).await.unwrap().unwrap();
        assert_eq!(there.position, handled.position, "{consumer}");
        // The message of this one was deleted.
        let has_id = consumer != "first" || there.message_id.is_some();
        assert_eq!(there.message_id, handled.message_id.filter(|_| has_id));
        assert_same(
            &left(left_store, consumer).await,
            &left(right_store, consumer).await,
        );
    }
    let there = right_store.all_checkpoints().await.unwrap();
    assert_eq!(there.len(), checkpoints.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn store_is_whole_after_a_move_between_any_two_backends() {
    for (from, _from_database) in empty_stores().await {
        fill(&from).await;
        let lines = exported(&from).await;
        for (to, _to_database) in empty_stores().await {
            let first = imported(&to, &lines).await.unwrap();
            assert_eq!((first.read, first.stored), (606, 606));
            assert_same_store(&from, &to).await;
            // Once more changes nothing.
            let again = imported(&to, &lines).await.unwrap();
            assert_eq!((again.read, again.stored), (606, 0));
            assert_same_store(&from, &to).await;
            // The next message has the next positions in both.
            write(&to, "order-1", 9).await;
            let next = whole_category(&to, "order").await.pop().unwrap();
            assert_eq!(next.position(), Position::new(3));
            let head = from.head().await.unwrap().unwrap().position;
            assert_eq!(next.global_position(), head.next());
            to.close().await;
        }
        from.close().await;
    }
}

/// A part that arrives alone, as over HTTP, finds the messages of the parts before it.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_may_come_in_a_part_of_their_own() {
    for (from, _from_database) in empty_stores().await {
        fill(&from).await;
        let lines = exported(&from).await;
        let end = lines.find("{\"checkpoint\"").unwrap();
        for (to, _to_database) in empty_stores().await {
            for part in [&lines[..end], &lines[end..]] {
                imported(&to, part).await.unwrap();
            }
            assert_same_store(&from, &to).await;
            to.close().await;
        }
        from.close().await;
    }
}

fn line(consumer: &str, handled: impl Into<Bookmark>) -> String {
    let handled = handled.into();
    format!("{{\"checkpoint\":{{\"consumer\":\"{consumer}\",\"handled\":\"{handled}\"}}}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_without_its_messages_is_refused_by_name() {
    for (store, _database) in empty_stores().await {
        for number in 0..3 {
            write(&store, "account-1", number).await;
        }
        let last = store.head().await.unwrap().unwrap();
        let beyond = last.position.next();
        let refused = [
            (line("mailer", beyond), "mailer"),
            (
                line("mailer", Bookmark::new(beyond, Uuid::now_v7())),
                "mailer",
            ),
            (
                line("mailer", Bookmark::new(last.position, Uuid::now_v7())),
                "mailer",
            ),
            (line("", last), "consumer"),
            (
                "{\"checkpoint\":{\"consumer\":\"mailer\"}}".to_owned(),
                "handled",
            ),
            (
                "{\"checkpoint\":{\"consumer\":\"mailer\",\"handled\":\"x\"}}".to_owned(),
                "bookmark",
            ),
            (line("mailer", last).replace("}}", ",\"more\":1}}"), "more"),
        ];
        for (wrong, named) in refused {
            let error = imported(&store, &format!("\n{wrong}")).await.unwrap_err();
            assert!(matches!(error, Error::Import { line: 2, .. }), "{error:?}");
            let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
            assert!(text.contains(named), "{text}");
            assert_eq!(store.all_checkpoints().await.unwrap(), []);
        }
        // One that is later in the store stays.
        store.save_checkpoint("mailer", last).await.unwrap();
        let first = whole_category(&store, "").await[0].bookmark();
        imported(&store, &line("mailer", first)).await.unwrap();
        assert_eq!(store.checkpoint("mailer").await.unwrap(), Some(last));
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn export_of_a_category_has_no_checkpoints() {
    for (store, _database) in empty_stores().await {
        fill(&store).await;
        let mut options = ndjson::ExportOptions::default();
        options.category = Category::new("order").unwrap();
        let mut lines = Vec::new();
        let count = ndjson::export(&store, &mut lines, options, |_| ()).await;
        assert_eq!(count.unwrap(), 3);
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(
            (lines.lines().count(), lines.contains("checkpoint")),
            (3, false)
        );
        store.close().await;
    }
}
