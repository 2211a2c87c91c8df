//! Notifications are hints: only if somebody listens, and never at the cost of a write.

use std::time::Duration;

use local_postgres::FULL_NOTIFICATION_QUEUE;
use message_store::postgres::{Config, PostgresStore};
use message_store::{GlobalPosition, MessageStore as _, SubscribeOptions};
use sqlx::postgres::PgListener;
use store_meter::testing::Log;
use tokio::time::timeout;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{category, connect, fresh_database, fresh_store, wait_until, write};

async fn listens(store: &PostgresStore) {
    let _hints = store.notifications();
    wait_until("the store listens", async || {
        let listener = store.stats().listener;
        listener.is_some_and(|listener| listener.lost_since.is_none())
    })
    .await;
}

/// The number of notifications until none arrives for a while.
async fn count(listener: &mut PgListener) -> usize {
    let mut count = 0;
    while let Ok(notified) = timeout(Duration::from_millis(300), listener.recv()).await {
        notified.unwrap();
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_notify_only_if_a_store_listens() {
    let (database, store) = fresh_store().await;
    // Receives all notifications, but does not hold the lock that makes writers send them.
    let mut listener = PgListener::connect(database.url()).await.unwrap();
    listener.listen("message_store").await.unwrap();
    write(&store, "a-1", 1).await;
    assert_eq!(count(&mut listener).await, 0);
    listens(&store).await;
    write(&store, "a-1", 2).await;
    assert_eq!(count(&mut listener).await, 1);
    store.close().await;
}

/// PostgreSQL fails the commit of a transaction that notifies while its queue is full.
#[tokio::test]
async fn full_queue_fails_no_write() {
    let database = fresh_database().await;
    connect(Config::new(database.url())).await.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(FULL_NOTIFICATION_QUEUE).await;
    let log = Log::begin();
    let [writer, reader] = [Config::new(database.url()), Config::new(database.url())];
    let (writer, reader) = (connect(writer).await, connect(reader).await);
    listens(&reader).await;
    for number in 0..3 {
        write(&writer, "a-1", number).await;
    }
    let told = "the server's queue of notifications is half full";
    wait_until("it is told", async || !log.lines(&[told]).is_empty()).await;

    let mut messages = reader.subscribe_to_category(
        category("a"),
        GlobalPosition::START,
        SubscribeOptions::new().poll_interval(Duration::from_secs(3600)),
    );
    for _ in 0..3 {
        messages.next().await.unwrap();
    }
    sql.run("UPDATE full_queue.state SET usage = 0").await;
    write(&writer, "a-1", 3).await;
    // The subscription does not poll, so only a notification can wake it.
    let next = timeout(Duration::from_secs(60), messages.next()).await;
    assert_eq!(next.expect("a hint").unwrap().position().get(), 3);
    wait_until("the end is told", async || {
        !log.lines(&["writes are notified again"]).is_empty()
    })
    .await;
    log.assert_one(told, &["WARN", "channel=\"message_store\"", "usage="]);
    writer.close().await;
    reader.close().await;
    sql.close().await;
}
