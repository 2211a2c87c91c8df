//! Closing a store.

use std::pin::pin;
use std::time::Duration;

use dcb_core::{Error, EventStore as _, Fault, Query, ReadOptions};
use tokio::time::sleep;

use crate::support::events::{head, tagged};
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, fresh_log, log_on, server};
use crate::support::wait::{wait_for_queued, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn close_finishes_queued_appends() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let append = || {
        let store = store.clone();
        tokio::spawn(async move { store.append(tagged("a")).await })
    };
    let mut appends = vec![append()];
    lock.wait_for_a_waiter().await;
    appends.extend((0..10).map(|_| append()));
    wait_for_queued(&store, 10).await;
    let mut closing = pin!(store.close());
    tokio::select! {
        biased;
        () = &mut closing => panic!("closed before its appends finished"),
        () = std::future::ready(()) => {}
    }
    let late = store.append(tagged("late")).await;
    assert!(matches!(late, Err(Error::Fault(Fault::Closed))), "{late:?}");
    lock.release().await;
    closing.await;
    for append in appends {
        append.await.unwrap().unwrap();
    }
    let store = connect(&log).await;
    assert_eq!(head(&store).await, 11);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_after_close_are_refused() {
    let store = connect(&fresh_log().await).await;
    let clone = store.clone();
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    store.close().await;
    clone.close().await;
    let append = clone.append(tagged("a")).await;
    assert!(
        matches!(append, Err(Error::Fault(Fault::Closed))),
        "{append:?}"
    );
    let query = clone.query(&Query::all(), ReadOptions::new()).await;
    assert!(
        matches!(query, Err(Error::Fault(Fault::Closed))),
        "{query:?}"
    );
    let stream = clone.query_stream(&Query::all(), ReadOptions::new()).await;
    assert!(
        matches!(stream, Err(Error::Fault(Fault::Closed))),
        "{stream:?}"
    );
    let count = clone.count(&Query::all()).await;
    assert!(
        matches!(count, Err(Error::Fault(Fault::Closed))),
        "{count:?}"
    );
    let head = clone.head().await;
    assert!(matches!(head, Err(Error::Fault(Fault::Closed))), "{head:?}");
    let health = clone.health().await;
    assert!(
        matches!(health, Err(Error::Fault(Fault::Closed))),
        "{health:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn close_ends_all_sessions() {
    let database = server().await.create_database("closing").await.unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let sessions = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name = 'dcb-core'";
    let store = connect(&log_on(database.url())).await;
    store.append(tagged("a")).await.unwrap();
    assert_eq!(head(&store).await, 1);
    // The server ends the session that installed the schema a moment after it was closed.
    wait_until(
        "there is one writer session and one reader session",
        async || sql.number(sessions).await == 2,
    )
    .await;
    store.close().await;
    wait_until("the sessions have ended", async || {
        sql.number(sessions).await == 0
    })
    .await;
    sql.close().await;
}

/// A caller that gave up would leave a store that is closed half-way, with its sessions.
#[tokio::test(flavor = "multi_thread")]
async fn close_goes_on_without_its_caller() {
    let database = server().await.create_database("left").await.unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let log = log_on(database.url());
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let appending = {
        let store = store.clone();
        tokio::spawn(async move { store.append(tagged("a")).await })
    };
    lock.wait_for_a_waiter().await;
    tokio::select! {
        biased;
        () = store.close() => panic!("closed before its append finished"),
        () = std::future::ready(()) => {}
    }
    lock.release().await;
    appending.await.unwrap().unwrap();
    wait_until("the sessions have ended", async || {
        sql.number(
            "SELECT count(*) FROM pg_stat_activity \
              WHERE datname = current_database() AND application_name = 'dcb-core'",
        )
        .await
            == 0
    })
    .await;
    sql.close().await;
    drop(store);
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_store_opens_no_listener() {
    let database = server().await.create_database("deaf").await.unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let store = connect(&log_on(database.url())).await;
    store.close().await;
    let _appends = store.notifications();
    let _others = store.notifications();
    let sessions = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name = 'dcb-core'";
    wait_until("the sessions have ended", async || {
        sql.number(sessions).await == 0
    })
    .await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(sql.number(sessions).await, 0);
    sql.close().await;
}
