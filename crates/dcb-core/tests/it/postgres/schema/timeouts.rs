//! Timeouts of appends and reads.

use std::time::Duration;

use conformance_suite::assert_greatest;
use dcb_core::postgres::PostgresStore;
use dcb_core::{Appended, Error, EventStore as _, Fault, Query, ReadOptions};
use futures_util::future::join;
use tokio::task::JoinHandle;

use crate::support::events::{UNLIMITED, head, read, tag, tagged};
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::{wait_for_queued, wait_until};

const SHORT: Duration = Duration::from_millis(500);

fn append(store: &PostgresStore, name: &str) -> JoinHandle<Result<Appended, Error>> {
    let (store, event) = (store.clone(), tagged(name));
    tokio::spawn(async move { store.append(event).await })
}

/// Each commit takes one append, so the last appends are still queued when they time out.
#[tokio::test(flavor = "multi_thread")]
async fn queued_append_is_withdrawn_on_timeout() {
    let mut log = fresh_log().await;
    log.write_timeout = SHORT;
    log.max_batch_requests = 1;
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let in_flight = append(&store, "in flight");
    lock.wait_for_a_waiter().await;
    let queued: Vec<_> = (0..10).map(|_| append(&store, "queued")).collect();
    let mut withdrawn = 0;
    for queued in queued {
        match queued.await.unwrap() {
            Err(Error::Fault(Fault::TimedOut {
                operation: "append",
                limit: SHORT,
            })) => withdrawn += 1,
            // The append was sent before it timed out.
            Err(Error::OutcomeUnknown { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(withdrawn > 0);
    let in_flight = in_flight.await.unwrap();
    assert!(
        matches!(
            in_flight,
            Err(Error::Fault(Fault::TimedOut { .. }) | Error::OutcomeUnknown { .. })
        ),
        "{in_flight:?}"
    );
    wait_until("no append waits for the lock", async || {
        store.stats().queued_appends == 0 && lock.waiting().await.is_empty()
    })
    .await;
    lock.release().await;
    let later = store.append(tagged("later")).await.unwrap();
    assert_eq!(later.first().get(), 1, "the earlier appends wrote nothing");
    store.close().await;
}

/// The lock is held for longer than the callers wait. Most of them wait in the second batch, which has
/// less time than the first.
#[tokio::test(flavor = "multi_thread")]
async fn append_behind_a_held_lock_times_out_with_nothing_written() {
    const LIMIT: Duration = Duration::from_secs(2);
    let direct = fresh_log().await;
    let pooled = fresh_log().await.transaction_pooling();
    for mut log in [direct, pooled] {
        log.write_timeout = LIMIT;
        let store = connect(&log).await;
        let mut lock = LogLock::take(&log).await;
        let first = append(&store, "first");
        lock.wait_for_a_waiter().await;
        let appends: Vec<_> = (0..29).map(|_| append(&store, "a")).collect();
        for append in appends.into_iter().chain([first]) {
            let told = append.await.unwrap();
            let is_timeout = matches!(
                told,
                Err(Error::Fault(Fault::TimedOut {
                    operation: "append",
                    limit: LIMIT
                }))
            );
            assert!(is_timeout, "{told:?}");
        }
        assert!(lock.waiting().await.is_empty());
        lock.release().await;
        let later = store.append(tagged("later")).await.unwrap();
        assert_eq!(later.first().get(), 1, "the earlier appends wrote nothing");
        store.close().await;
    }
}

/// A lone caller's append waits for most of its time.
#[tokio::test(flavor = "multi_thread")]
async fn append_that_was_given_little_time_does_not_shorten_the_next() {
    let mut log = fresh_log().await;
    log.write_timeout = Duration::from_secs(2);
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let first = append(&store, "first");
    lock.wait_for_a_waiter().await;
    let second = append(&store, "second");
    for told in [first.await.unwrap(), second.await.unwrap()] {
        assert!(
            matches!(told, Err(Error::Fault(Fault::TimedOut { .. }))),
            "{told:?}"
        );
    }
    let third = append(&store, "third");
    lock.wait_for_a_waiter().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    lock.release().await;
    assert_eq!(third.await.unwrap().unwrap().first().get(), 1);
    store.close().await;
}

/// A dropped append is withdrawn if it is queued and committed if it is in flight.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_append_is_withdrawn_or_committed() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut lock = LogLock::take(&log).await;
    let in_flight = append(&store, "in flight");
    lock.wait_for_a_waiter().await;
    let queued = append(&store, "queued");
    wait_for_queued(&store, 1).await;
    queued.abort();
    in_flight.abort();
    wait_for_queued(&store, 0).await;
    lock.release().await;
    store.append(tagged("later")).await.unwrap();
    assert_eq!(head(&store).await, 2);
    assert_eq!(read(&store, &tag("in flight")).await.len(), 1);
    assert!(read(&store, &tag("queued")).await.is_empty());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn append_with_unknown_outcome_can_be_repeated() {
    let mut log = fresh_log().await;
    log.write_timeout = SHORT;
    let store = connect(&log).await;
    let lock = LogLock::take(&log).await;
    let event = tagged("a").with_id(uuid::Uuid::now_v7());
    let first = store.append(event.clone()).await;
    assert!(
        matches!(
            first,
            Err(Error::Fault(Fault::TimedOut { .. }) | Error::OutcomeUnknown { .. })
        ),
        "{first:?}"
    );
    lock.release().await;
    let again = store.append(event.clone()).await.unwrap();
    assert_eq!(store.append(event).await.unwrap(), again);
    assert_eq!(head(&store).await, 1);
    store.close().await;
}

/// Another session locks the table.
#[tokio::test(flavor = "multi_thread")]
async fn blocked_read_times_out() {
    let mut log = fresh_log().await;
    log.read_timeout = SHORT;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let mut other = Sql::connect(&log.url).await;
    other
        .run(&format!(
            "BEGIN; LOCK TABLE {}.event IN ACCESS EXCLUSIVE MODE",
            log.schema
        ))
        .await;
    let is_timeout = |error: &Error| {
        matches!(
            error,
            Error::Fault(Fault::TimedOut {
                operation: "read",
                limit: SHORT
            })
        )
    };
    let query = store.query(&Query::all(), ReadOptions::new()).await;
    assert!(query.as_ref().is_err_and(is_timeout), "{query:?}");
    let stream = store.query_stream(&Query::all(), ReadOptions::new()).await;
    assert!(stream.as_ref().is_err_and(is_timeout), "{stream:?}");
    let count = store.count(&tag("a")).await;
    assert!(count.as_ref().is_err_and(is_timeout), "{count:?}");
    other.run("COMMIT").await;
    assert_eq!(head(&store).await, 1);
    other.close().await;
    store.close().await;
}

/// A read that waits for a lock has the only connection.
#[tokio::test(flavor = "multi_thread")]
async fn read_without_a_free_connection_times_out() {
    let mut log = fresh_log().await;
    log.read_timeout = SHORT;
    log.read_connections = 1;
    let store = connect(&log).await;
    store.append(vec![tagged("a"); 1000]).await.unwrap();
    let mut other = Sql::connect(&log.url).await;
    other
        .run(&format!(
            "BEGIN; LOCK TABLE {}.event IN ACCESS EXCLUSIVE MODE",
            log.schema
        ))
        .await;
    let before = store.stats().reads;
    let all = Query::all();
    let (first, given_up) = join(store.query(&all, ReadOptions::new()), store.head()).await;
    for error in [first.unwrap_err(), given_up.unwrap_err()] {
        assert!(
            matches!(
                error,
                Error::Fault(Fault::TimedOut {
                    operation: "read",
                    ..
                })
            ),
            "{error:?}"
        );
    }
    assert_eq!(
        store.stats().reads - before,
        2,
        "the reads are not repeated"
    );
    other.run("COMMIT").await;
    assert_eq!(head(&store).await, 1000);
    other.close().await;
    store.close().await;
}

/// `Duration::MAX` is longer than a clock can count, and longer than the server supports.
#[tokio::test(flavor = "multi_thread")]
async fn every_limit_may_have_its_greatest_value() {
    let mut log = fresh_log().await;
    log.limits = UNLIMITED;
    log.write_timeout = Duration::MAX;
    log.read_timeout = Duration::MAX;
    log.max_replica_lag = Duration::MAX;
    log.max_batch_requests = usize::MAX;
    log.max_batch_bytes = usize::MAX;
    log.max_queued_requests = usize::MAX;
    log.max_queued_bytes = usize::MAX;
    log.read_connections = u32::MAX;
    log.max_concurrent_projections = usize::MAX;
    log.lane_cache_bytes = usize::MAX;
    assert_greatest(&log);
    let mut few = log.clone();
    few.read_connections = 1;
    for config in [&log, &few] {
        let store = connect(config).await;
        store.append(vec![tagged("a"); 3]).await.unwrap();
        assert_eq!(head(&store).await, 3);
        let query = tag("a");
        let reads = (0..20).map(|_| read(&store, &query));
        for events in futures_util::future::join_all(reads).await {
            assert_eq!(events.len(), 3);
        }
        store.health().await.unwrap();
        store.clear().await.unwrap();
        store.close().await;
    }
}
