//! Timeouts of appends.

use std::time::Duration;

use conformance_suite::assert_greatest;
use dcb_core::{Append, Error, EventStore as _, Fault, Projector};

use crate::support::backend::begin;
use crate::support::events::{UNLIMITED, head, read, tag, tagged};
use crate::support::sqlite::files::LogLock;
use crate::support::sqlite::{connect, fresh_log};
use crate::support::wait::wait_until;

const SHORT: Duration = Duration::from_millis(500);

fn is_locked(error: &Error) -> bool {
    matches!(error, Error::Fault(Fault::Locked(_)))
}

/// Each commit takes one append, so the later appends are still queued when they time out. The first
/// waits for the lock, and is told the same.
#[tokio::test(flavor = "multi_thread")]
async fn queued_append_is_withdrawn_on_timeout() {
    let mut log = fresh_log().await;
    log.write_timeout = SHORT;
    log.max_batch_requests = 1;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let mut appends = Vec::new();
    for _ in 0..10 {
        appends.push(begin(&store, Append::new(tagged("a"))).await);
    }
    for append in appends {
        let given_up = append.await.unwrap();
        assert!(given_up.as_ref().is_err_and(is_locked), "{given_up:?}");
    }
    // The last commit times out on its own.
    wait_until("no append is queued", async || {
        store.stats().queued_appends == 0
    })
    .await;
    tokio::time::sleep(SHORT).await;
    lock.release();
    let later = store.append(tagged("later")).await.unwrap();
    assert_eq!(later.first().get(), 1, "the earlier appends wrote nothing");
    store.close().await;
}

/// The second and the third append share a batch that waits for the lock. The second withdraws, and
/// the third still has time when the lock is released.
#[tokio::test(flavor = "multi_thread")]
async fn batch_leaves_out_withdrawn_append() {
    let mut log = fresh_log().await;
    log.write_timeout = SHORT * 4;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let first = begin(&store, Append::new(tagged("first"))).await;
    tokio::time::sleep(SHORT).await;
    let second = begin(&store, Append::new(tagged("second"))).await;
    tokio::time::sleep(SHORT * 2).await;
    let third = begin(&store, Append::new(tagged("third"))).await;
    for given_up in [first, second] {
        let given_up = given_up.await.unwrap();
        assert!(given_up.as_ref().is_err_and(is_locked), "{given_up:?}");
    }
    lock.release();
    assert_eq!(third.await.unwrap().unwrap().first().get(), 1);
    assert_eq!(head(&store).await, 1);
    store.close().await;
}

/// A dropped append is withdrawn if it is queued and committed if it is in flight.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_append_is_withdrawn_or_committed() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let in_flight = begin(&store, Append::new(tagged("in flight"))).await;
    let queued = begin(&store, Append::new(tagged("queued"))).await;
    queued.abort();
    in_flight.abort();
    wait_until("the queue is empty", async || {
        store.stats().queued_appends == 0
    })
    .await;
    lock.release();
    store.append(tagged("later")).await.unwrap();
    assert_eq!(head(&store).await, 2);
    assert_eq!(read(&store, &tag("in flight")).await.len(), 1);
    assert!(read(&store, &tag("queued")).await.is_empty());
    store.close().await;
}

/// `Duration::MAX` is longer than a clock can count, and longer than SQLite supports.
#[tokio::test(flavor = "multi_thread")]
async fn every_limit_may_have_its_greatest_value() {
    let mut log = fresh_log().await;
    log.limits = UNLIMITED;
    log.write_timeout = Duration::MAX;
    log.read_timeout = Duration::MAX;
    log.max_batch_requests = usize::MAX;
    log.max_batch_bytes = usize::MAX;
    log.max_queued_requests = usize::MAX;
    log.max_queued_bytes = usize::MAX;
    log.read_connections = u32::MAX;
    log.keys_in_memory = usize::MAX;
    log.max_concurrent_projections = usize::MAX;
    log.lane_cache_bytes = usize::MAX;
    assert_greatest(&*log);
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let blocking = store.blocking().clone();
    let appended = tokio::task::spawn_blocking(move || blocking.append(tagged("a")));
    assert_eq!(appended.await.unwrap().unwrap().first().get(), 2);
    assert_eq!(read(&store, &tag("a")).await.len(), 2);
    let counter = Projector::counter(tag("a"));
    assert_eq!(store.project(&counter).await.unwrap().state, 2);
    store.health().await.unwrap();
    store.clear().await.unwrap();
    assert_eq!(head(&store).await, 0);
    store.close().await;
}
