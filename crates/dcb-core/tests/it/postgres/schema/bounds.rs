//! The bounds that a config sets.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Append, Appended, Error, EventStore as _, Problem, Projector, Query, ReadOptions};
use tokio::task::JoinHandle;

use crate::support::events::{head, tagged};
use crate::support::postgres::sql::LogLock;
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::{wait_for_queued, wait_until};

type Answer = Result<Appended, Error>;

fn append(store: &PostgresStore) -> JoinHandle<Answer> {
    let store = store.clone();
    tokio::spawn(async move { store.append(tagged("a")).await })
}

/// Starts `count` appends behind one that waits for the lock.
async fn behind(
    store: &PostgresStore,
    lock: &mut LogLock,
    count: usize,
) -> Vec<JoinHandle<Answer>> {
    let mut appends = vec![append(store)];
    lock.wait_for_a_waiter().await;
    appends.extend((0..count).map(|_| append(store)));
    appends
}

async fn assert_all_appended(appends: Vec<JoinHandle<Answer>>) {
    for append in appends {
        append.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_beyond_the_limits_is_refused() {
    let mut log = fresh_log().await;
    log.limits.max_events_per_append = 2;
    log.limits.max_event_bytes = 100;
    let store = connect(&log).await;
    let many = store.append(vec![tagged("a"); 3]).await;
    assert!(
        matches!(
            &many,
            Err(Error::Invalid { field, problem: Problem::TooMany { max: 2, actual: 3 } })
                if field == "events"
        ),
        "{many:?}"
    );
    let large = store.append(tagged(&"a".repeat(100))).await;
    assert!(
        matches!(
            &large,
            Err(Error::Invalid { field, problem: Problem::TooLarge { max: 100, .. } })
                if field == "events[0]"
        ),
        "{large:?}"
    );
    assert_eq!(head(&store).await, 0);
    store.append(vec![tagged("a"); 2]).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_takes_at_most_max_batch_requests() {
    let mut log = fresh_log().await;
    log.max_batch_requests = 7;
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let appends = behind(&store, &mut lock, 20).await;
    wait_for_queued(&store, 20).await;
    lock.release().await;
    assert_all_appended(appends).await;
    let stats = store.stats();
    assert_eq!(
        (stats.largest_batch, stats.commits),
        (7, 1 + 3),
        "{stats:?}"
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_takes_at_most_max_batch_bytes() {
    let mut log = fresh_log().await;
    log.max_batch_bytes = 5 * tagged("a").size_bytes();
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let appends = behind(&store, &mut lock, 20).await;
    wait_for_queued(&store, 20).await;
    lock.release().await;
    assert_all_appended(appends).await;
    let stats = store.stats();
    assert_eq!(
        (stats.largest_batch, stats.commits),
        (5, 1 + 4),
        "{stats:?}"
    );
    // A larger append takes a commit alone.
    store
        .submit(Append::new(vec![tagged("a"); 6]))
        .await
        .unwrap();
    store.close().await;
}

/// Asserts that the queue holds `expected` appends at a time and all appends succeed.
async fn assert_queue_holds(log: dcb_core::postgres::Config, expected: u64) {
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let appends = behind(&store, &mut lock, 20).await;
    wait_until("the queue is full", async || {
        store.stats().queued_appends >= expected
    })
    .await;
    lock.release().await;
    assert_all_appended(appends).await;
    let stats = store.stats();
    assert_eq!(stats.appends, 21);
    assert!(stats.largest_batch <= expected, "{stats:?}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_holds_at_most_max_queued_requests() {
    let mut log = fresh_log().await;
    log.max_queued_requests = 4;
    assert_queue_holds(log, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_holds_at_most_max_queued_bytes() {
    let mut log = fresh_log().await;
    log.max_queued_bytes = 4 * tagged("a").size_bytes();
    assert_queue_holds(log, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_open_at_most_read_connections() {
    let mut log = fresh_log().await;
    log.read_connections = 3;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let reads: Vec<_> = (0..50)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { head(&store).await })
        })
        .collect();
    for read in reads {
        assert_eq!(read.await.unwrap(), 1);
    }
    let open = store.stats().read_connections;
    assert!((1..=3).contains(&open), "{open}");
    store.close().await;
    assert_eq!(store.stats().read_connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn projection_beyond_the_maximum_is_refused() {
    let mut log = fresh_log().await;
    log.max_concurrent_projections = 2;
    let store = connect(&log).await;
    let counter = Projector::counter(Query::all());
    let one = store.project_stream(&counter, None).await.unwrap();
    let other = store.project_stream(&counter, None).await.unwrap();
    assert_eq!(store.stats().running_projections, 2);
    let refused = store.project(&counter).await;
    assert!(
        matches!(
            refused,
            Err(Error::TooManyProjections { max: 2, current: 2 })
        ),
        "{refused:?}"
    );
    drop(one);
    store.project(&counter).await.unwrap();
    other.finish().await.unwrap();
    assert_eq!(store.stats().running_projections, 0);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_count_appends_and_reads() {
    let store = connect(&fresh_log().await).await;
    store.append(vec![tagged("a"); 3]).await.unwrap();
    store.append(tagged("b")).await.unwrap();
    let condition = crate::support::events::unless("a");
    store.append_if(tagged("a"), condition).await.unwrap_err();
    store
        .query(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    let stats = store.stats();
    assert_eq!(
        (stats.appends, stats.events, stats.commits, stats.conflicts),
        (2, 4, 3, 1)
    );
    assert!(stats.reads >= 1, "{stats:?}");
    assert_eq!((stats.largest_batch, stats.queued_appends), (1, 0));
    assert_eq!(stats.lost_connections, 0);
    store.close().await;
}
