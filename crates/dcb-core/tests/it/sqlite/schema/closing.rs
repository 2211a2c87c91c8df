//! Closing a store.

use std::pin::pin;

use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{Append, Error, EventStore as _, Fault, Query, ReadOptions};

use crate::support::backend::begin;
use crate::support::events::{head, tagged};
use crate::support::sqlite::files::{LogLock, write_ahead_log};
use crate::support::sqlite::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn close_finishes_queued_appends() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let mut appends = Vec::new();
    for _ in 0..11 {
        appends.push(begin(&store, Append::new(tagged("a"))).await);
    }
    let mut closing = pin!(store.close());
    tokio::select! {
        biased;
        () = &mut closing => panic!("closed before its appends finished"),
        () = std::future::ready(()) => {}
    }
    let late = store.append(tagged("late")).await;
    assert!(matches!(late, Err(Error::Fault(Fault::Closed))), "{late:?}");
    lock.release();
    closing.await;
    for append in appends {
        append.await.unwrap().unwrap();
    }
    let store = connect(&log).await;
    assert_eq!(head(&store).await, 11);
    store.close().await;
}

async fn assert_calls_after_close_are_refused(store: SqliteStore) {
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
    let append = clone.blocking().append(tagged("a"));
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
async fn calls_after_close_are_refused() {
    let log = fresh_log().await;
    assert_calls_after_close_are_refused(connect(&log).await).await;
    let memory = SqliteStore::open(Config::memory()).await.unwrap();
    assert_calls_after_close_are_refused(memory).await;
}

/// The last connection moves the write-ahead log into the file and deletes it.
#[tokio::test(flavor = "multi_thread")]
async fn last_close_removes_the_write_ahead_log() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    store.append(tagged("a")).await.unwrap();
    assert_eq!(head(&other).await, 1);
    assert!(write_ahead_log(&log.path()).exists());
    store.close().await;
    assert_eq!(head(&other).await, 1, "the other store still works");
    other.close().await;
    assert!(!write_ahead_log(&log.path()).exists());
    assert_eq!(other.stats().read_connections, 0);
}
