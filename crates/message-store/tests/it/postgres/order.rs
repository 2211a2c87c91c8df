//! Readers that page by global position miss no message, however the transactions of writers
//! overlap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{CategoryRead, ExpectedVersion, GlobalPosition, MessageStore, StreamWrite};
use tokio::task::JoinHandle;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    category, connect, fresh_database, fresh_store, message, stream_name, wait_until,
    whole_category, write,
};

fn numbers(messages: &[message_store::RecordedMessage]) -> Vec<u64> {
    let number = |message: &message_store::RecordedMessage| message.global_position().get();
    messages.iter().map(number).collect()
}

#[tokio::test]
async fn messages_behind_open_write_appear_when_it_ends() {
    let (database, store) = fresh_store().await;
    let mut open = Sql::connect(database.url()).await;
    let mut quick = Sql::connect(database.url()).await;
    for end in ["COMMIT", "ROLLBACK"] {
        let before = numbers(&whole_category(&store, "").await);
        open.run("BEGIN").await;
        open.write("slow-1").await;
        quick.write("quick-1").await;
        write(&store, "crate-1", 1).await;
        assert_eq!(numbers(&whole_category(&store, "").await), before);
        let head = store.head().await.unwrap();
        assert_eq!(head.map(|head| head.position.get()), before.last().copied());
        let of_clients = quick
            .value("SELECT coalesce(message_store.head(), 0)")
            .await;
        assert_eq!(of_clients, before.last().unwrap_or(&0).to_string());
        // A category does not wait for the open write.
        assert!(!whole_category(&store, "quick").await.is_empty());
        open.run(end).await;
        let seen = whole_category(&store, "").await;
        let committed = if end == "COMMIT" { 3 } else { 2 };
        assert_eq!(seen.len(), before.len() + committed, "{end}");
        assert!(seen.is_sorted_by_key(|message| message.global_position()));
    }
    store.close().await;
}

#[tokio::test]
async fn write_after_savepoint_rollback_is_announced() {
    let (database, store) = fresh_store().await;
    let mut open = Sql::connect(database.url()).await;
    open.run("BEGIN; SAVEPOINT s").await;
    open.write("slow-1").await;
    open.run("ROLLBACK TO s").await;
    open.write("slow-1").await;
    write(&store, "crate-1", 1).await;
    assert_eq!(numbers(&whole_category(&store, "").await), [0; 0]);
    open.run("COMMIT").await;
    assert_eq!(numbers(&whole_category(&store, "").await), [2, 3]);
    store.close().await;
}

#[tokio::test]
async fn transaction_without_messages_delays_no_reader() {
    let (database, store) = fresh_store().await;
    let mut foreign = Sql::connect(database.url()).await;
    foreign
        .run("CREATE TABLE other (id int); BEGIN; INSERT INTO other VALUES (1)")
        .await;
    write(&store, "a-1", 1).await;
    assert_eq!(numbers(&whole_category(&store, "").await), [1]);
    foreign.run("COMMIT").await;
    store.close().await;
}

#[tokio::test]
async fn reading_all_messages_in_old_snapshot_is_refused() {
    let (database, store) = fresh_store().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    let refused = sql.refused("SELECT message_store.get_all_messages()").await;
    assert_eq!(refused.code, "25000");
    store.close().await;
}

/// The sessions of the store set their own isolation level.
#[tokio::test]
async fn store_ignores_default_isolation_of_database() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE {name} SET default_transaction_isolation TO serializable"
    ))
    .await;
    let store = connect(Config::new(database.url())).await;
    write(&store, "a-1", 1).await;
    assert_eq!(numbers(&whole_category(&store, "").await), [1]);
    store.close().await;
}

#[tokio::test]
async fn write_waits_only_for_its_category() {
    let (database, store) = fresh_store().await;
    let mut open = Sql::connect(database.url()).await;
    open.run("BEGIN").await;
    open.write("held-1").await;
    let held = {
        let store = store.clone();
        tokio::spawn(async move { write(&store, "held-1", 1).await })
    };
    wait_until("the write waits", async || {
        waiting_locks(&database).await == 1
    })
    .await;
    write(&store, "free-1", 1).await;
    let both = vec![
        StreamWrite::new(stream_name("free-1"), message(2)),
        StreamWrite::new(stream_name("other-1"), message(2)),
    ];
    store.write_streams(both).await.unwrap();
    assert!(!held.is_finished());
    open.run("COMMIT").await;
    held.await.unwrap();
    let positions = store.stream_version(&stream_name("held-1")).await.unwrap();
    assert_eq!(positions.map(message_store::Position::get), Some(1));
    store.close().await;
}

async fn waiting_locks(database: &Database) -> i64 {
    let mut sql = Sql::connect(database.url()).await;
    sql.number(
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
          WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted",
    )
    .await
}

/// A client and the store lock the same two categories in opposite order.
#[tokio::test]
async fn deadlocked_write_is_retried() {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    // PostgreSQL aborts the session whose deadlock check runs first. This must be the store's
    // session, so the client's check runs only after a minute. The store's check runs late enough
    // for the client to be waiting too.
    sql.run("SET deadlock_timeout = '1min'").await;
    sql.run(
        "DO $$ BEGIN
           EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 1500', current_database());
         END $$",
    )
    .await;
    let mut config = Config::new(database.url());
    config.write_timeout = Duration::from_secs(60);
    let store = connect(config).await;
    // The store locks categories in the order of their keys.
    let mut names = ["left", "right"];
    names.sort_by_key(|name| message_store::hash_64(name));
    let [first, second] = names;
    sql.run("BEGIN").await;
    sql.write(&format!("{second}-1")).await;
    let writing = {
        let store = store.clone();
        let writes = [first, second].map(|name| {
            StreamWrite::new(stream_name(&format!("{name}-1")), message(1))
                .expected_version(ExpectedVersion::Any)
        });
        tokio::spawn(async move { store.write_streams(writes.into()).await })
    };
    wait_until("the write waits", async || {
        waiting_locks(&database).await == 1
    })
    .await;
    sql.write(&format!("{first}-1")).await;
    sql.run("COMMIT").await;
    writing.await.unwrap().expect("the write is retried");
    assert_eq!(whole_category(&store, "").await.len(), 4);
    store.close().await;
}

/// Reads a category page by page, or all messages if the name is empty. After `stop` is set, reads
/// to the end and returns.
async fn page(store: PostgresStore, name: &'static str, stop: Arc<AtomicBool>) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut next = GlobalPosition::START;
    loop {
        let stopped = stop.load(Ordering::SeqCst);
        let read = CategoryRead::new().position(next).batch_size(100);
        let page = store.get_category_messages(&category(name), read).await;
        let page = page.expect("the category can be read");
        match page.last() {
            Some(last) => next = last.global_position().next(),
            None if stopped => return seen,
            None => {}
        }
        seen.extend(numbers(&page));
    }
}

/// Writes by SQL. Every tenth message is in a transaction that stays open for a while and is
/// committed or rolled back.
fn client(url: &str, number: usize, writes: usize) -> JoinHandle<()> {
    let url = url.to_owned();
    tokio::spawn(async move {
        let mut sql = Sql::connect(&url).await;
        for index in 0..writes {
            let name = format!("c{}-{number}", (number + index) % 7);
            if index % 10 > 0 {
                sql.write(&name).await;
                continue;
            }
            sql.run("BEGIN").await;
            sql.write(&name).await;
            sql.run("SELECT pg_sleep(0.003)").await;
            sql.run(if index % 20 == 0 {
                "COMMIT"
            } else {
                "ROLLBACK"
            })
            .await;
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_miss_no_message_of_concurrent_writers() {
    const CALLERS: usize = 4;
    let writes = effort(100);
    let (database, store) = fresh_store().await;
    let other = connect(Config::new(database.url())).await;
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = ["", "", "c1", "c3"]
        .into_iter()
        .map(|name| tokio::spawn(page(store.clone(), name, Arc::clone(&stop))))
        .collect();
    // This transaction stays open during the whole test and writes no message.
    let mut foreign = Sql::connect(database.url()).await;
    foreign
        .run("CREATE TABLE other (id int); BEGIN; INSERT INTO other VALUES (1)")
        .await;
    let mut writers: Vec<_> = (0..CALLERS)
        .map(|number| client(database.url(), number, writes))
        .collect();
    for (number, store) in [&store, &other, &store, &other].into_iter().enumerate() {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            for index in 0..writes {
                write(&store, &format!("c{}-{number}", index % 7), index as u64).await;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    for (reader, name) in readers.into_iter().zip(["", "", "c1", "c3"]) {
        let seen = reader.await.unwrap();
        assert_eq!(
            seen,
            numbers(&whole_category(&store, name).await),
            "{name:?}"
        );
    }
    assert!(whole_category(&store, "").await.len() > CALLERS * writes);
    store.close().await;
    other.close().await;
}
