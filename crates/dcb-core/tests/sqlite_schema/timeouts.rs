//! Calls that take too long.

use std::time::Duration;

use dcb_core::{Append, Error, EventStore as _};

use crate::support::events::{head, read, tag, tagged};
use crate::support::files::LogLock;
use crate::support::wait::wait_until;
use crate::support::{begin, connect, fresh_log};

const SHORT: Duration = Duration::from_secs(1);

fn is_timeout(error: &Error) -> bool {
    matches!(
        error,
        Error::Timeout {
            operation: "append",
            limit: SHORT
        }
    )
}

/// The file's lock stays in other hands: nothing is written, and the callers are told so.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_waits_for_another_process_is_given_up() {
    let mut log = fresh_log().await;
    log.append_timeout = SHORT;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let given_up = store.append(tagged("async")).await;
    assert!(given_up.as_ref().is_err_and(is_timeout), "{given_up:?}");
    let blocking = store.blocking().clone();
    let given_up = tokio::task::spawn_blocking(move || blocking.append(tagged("blocking")));
    let given_up = given_up.await.unwrap();
    assert!(given_up.as_ref().is_err_and(is_timeout), "{given_up:?}");
    lock.release();
    let later = store.append(tagged("later")).await.unwrap();
    assert_eq!(later.first().get(), 1, "nothing was written before");
    store.close().await;
}

/// A commit takes one append, so that those behind it have not begun when their time is over.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_is_still_queued_is_withdrawn() {
    let mut log = fresh_log().await;
    log.append_timeout = SHORT;
    log.max_batch_requests = 1;
    let store = connect(&log).await;
    let lock = LogLock::take(&log);
    let mut appends = Vec::new();
    for _ in 0..10 {
        appends.push(begin(&store, Append::new(tagged("a"))).await);
    }
    let mut withdrawn = 0;
    for append in appends {
        match append.await.unwrap() {
            Err(error) if is_timeout(&error) => withdrawn += 1,
            // Its turn came, and its time ended before that of the commit.
            Err(Error::OutcomeUnknown { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(withdrawn >= 8, "{withdrawn}");
    // The last commit gives up by itself.
    wait_until("no commit is under way", async || {
        store.stats().queued_appends == 0
    })
    .await;
    tokio::time::sleep(SHORT).await;
    lock.release();
    let later = store.append(tagged("later")).await.unwrap();
    assert_eq!(later.first().get(), 1, "nothing was written before");
    store.close().await;
}

/// The caller is gone; its append is withdrawn while it is queued, and committed in flight.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_append_is_withdrawn_or_committed() {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_call_may_take_for_ever() {
    let mut log = fresh_log().await;
    log.append_timeout = Duration::MAX;
    log.query_timeout = Duration::MAX;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let blocking = store.blocking().clone();
    let appended = tokio::task::spawn_blocking(move || blocking.append(tagged("a")));
    assert_eq!(appended.await.unwrap().unwrap().first().get(), 2);
    assert_eq!(read(&store, &tag("a")).await.len(), 2);
    store.clear().await.unwrap();
    assert_eq!(head(&store).await, 0);
    store.close().await;
}
