//! Notifications: one per batch, and only while a store listens.

use std::time::Duration;

use conformance_suite::effort;
use dcb_core::{EventStore as _, Query, SubscribeOptions};
use sqlx::postgres::PgListener;
use tokio::time::timeout;

use super::{take, wait_for_a_listener};
use crate::support::events::{tagged, whole_log};
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, log_on, server};
use crate::support::wait::{wait_for_queued, wait_until};

/// The store polls so rarely that only notifications can deliver the events in time.
#[tokio::test(flavor = "multi_thread")]
async fn notification_delivers_events_of_another_process() {
    let database = server().await.create_database("heard").await.unwrap();
    let log = log_on(database.url());
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let mut sql = Sql::connect(database.url()).await;
    let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
    let mut events = reader.subscribe(Query::all(), None, never);
    writer.append(tagged("first")).await.unwrap();
    let mut seen = take(&mut events, 1).await;
    wait_for_a_listener(&mut sql, &log.schema).await;
    for _ in 0..effort(50) {
        writer.append(tagged("next")).await.unwrap();
        seen.extend(take(&mut events, 1).await);
    }
    // The store replaces a lost listener session and finds the events appended in between.
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
          WHERE datname = current_database() AND query LIKE '%advisory_lock_shared%' \
            AND pid <> pg_backend_pid()",
    )
    .await;
    writer.append(tagged("last")).await.unwrap();
    seen.extend(take(&mut events, 1).await);
    assert_eq!(seen, whole_log(&reader).await);
    writer.close().await;
    reader.close().await;
    sql.close().await;
}

/// The number of notifications until none arrives for a while.
async fn count_notifications(listener: &mut PgListener) -> usize {
    let mut count = 0;
    while let Ok(announced) = timeout(Duration::from_millis(300), listener.recv()).await {
        announced.unwrap();
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_is_announced_once_and_only_with_listeners() {
    const BATCH: usize = 20;
    let database = server().await.create_database("once").await.unwrap();
    let log = log_on(database.url());
    let store = connect(&log).await;
    let mut sql = Sql::connect(database.url()).await;
    // Receives all notifications, but does not hold the lock that makes writers send them.
    let mut listener = PgListener::connect(database.url()).await.unwrap();
    listener.listen(&log.schema).await.unwrap();
    store.append(tagged("unheard")).await.unwrap();
    assert_eq!(count_notifications(&mut listener).await, 0);

    let _appends = store.notifications();
    wait_for_a_listener(&mut sql, &log.schema).await;
    let commits = store.stats().commits;
    let lock = LogLock::take(&log).await;
    let append = || {
        let store = store.clone();
        tokio::spawn(async move { store.append(tagged("heard")).await })
    };
    let mut waiting = vec![append()];
    wait_until("the first append is in flight", async || {
        store.stats().queued_appends == 0
    })
    .await;
    waiting.extend((1..=BATCH).map(|_| append()));
    wait_for_queued(&store, BATCH).await;
    lock.release().await;
    for append in waiting {
        append.await.unwrap().unwrap();
    }
    let commits = store.stats().commits - commits;
    assert!(commits < BATCH as u64, "{commits} commits");
    assert_eq!(count_notifications(&mut listener).await as u64, commits);
    store.close().await;
    sql.close().await;
}

/// A forgotten open transaction does not hide events from a subscription.
#[tokio::test(flavor = "multi_thread")]
async fn open_transaction_hides_no_event() {
    let database = server().await.create_database("forgotten").await.unwrap();
    let log = log_on(database.url());
    let store = connect(&log).await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("CREATE TABLE other (n int)").await;
    sql.run("BEGIN; INSERT INTO other VALUES (1)").await;
    let mut snapshot = Sql::connect(database.url()).await;
    snapshot
        .run("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM other")
        .await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    for _ in 0..10 {
        let appended = store.append(tagged("a")).await.unwrap();
        let seen = take(&mut events, 1).await;
        assert_eq!(seen[0].position(), appended.first());
    }
    snapshot.close().await;
    store.close().await;
    sql.close().await;
}
