//! The bounds that a config sets.

use dcb_core::sqlite::SqliteStore;
use dcb_core::{Append, Appended, Error, EventStore as _, Problem, Projector, Query};
use tokio::task::JoinHandle;

use crate::support::backend::begin;
use crate::support::events::{head, tagged};
use crate::support::sqlite::files::LogLock;
use crate::support::sqlite::{Log, connect, fresh_log};

type Answer = Result<Appended, Error>;

/// Starts `count` appends behind one that waits for the file's lock.
async fn behind(store: &SqliteStore, count: usize) -> Vec<JoinHandle<Answer>> {
    let mut appends = Vec::new();
    for _ in 0..=count {
        appends.push(begin(store, Append::new(tagged("a"))).await);
    }
    appends
}

/// A store after 21 appends: one that waited for the lock, and 20 queued behind it.
async fn after_a_queue(log: &Log) -> SqliteStore {
    let store = connect(log).await;
    let lock = LogLock::take(log);
    let appends = behind(&store, 20).await;
    lock.release();
    for append in appends {
        append.await.unwrap().unwrap();
    }
    store
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
    let store = after_a_queue(&log).await;
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
    let store = after_a_queue(&log).await;
    let stats = store.stats();
    assert_eq!(
        (stats.largest_batch, stats.commits),
        (5, 1 + 4),
        "{stats:?}"
    );
    // A larger append takes a commit alone.
    store.append(vec![tagged("a"); 6]).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_holds_at_most_max_queued_requests() {
    let mut log = fresh_log().await;
    log.max_queued_requests = 4;
    let store = after_a_queue(&log).await;
    let stats = store.stats();
    assert_eq!(stats.appends, 21);
    assert!(stats.largest_batch <= 4, "{stats:?}");
    store.close().await;
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
}

#[tokio::test(flavor = "multi_thread")]
async fn projection_beyond_the_maximum_is_refused() {
    let mut log = fresh_log().await;
    log.max_concurrent_projections = 2;
    let store = connect(&log).await;
    let counter = Projector::counter(Query::all());
    let running = [
        store.project_stream(&counter, None).await.unwrap(),
        store.project_stream(&counter, None).await.unwrap(),
    ];
    let refused = store.blocking().project(&counter);
    assert!(
        matches!(
            refused,
            Err(Error::TooManyProjections { max: 2, current: 2 })
        ),
        "the third projection must be refused"
    );
    drop(running);
    assert_eq!(store.blocking().project(&counter).unwrap().state, 0);
    store.close().await;
}
