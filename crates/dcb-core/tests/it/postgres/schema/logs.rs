//! Several logs in one database.

use dcb_core::{AppendCondition, EventStore as _, Query};

use crate::support::events::{head, tagged, whole_log};
use crate::support::postgres::sql::LogLock;
use crate::support::postgres::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn logs_have_separate_events_and_positions() {
    let (one, other) = (fresh_log().await, fresh_log().await);
    assert_eq!(one.url, other.url);
    let (one, other) = (connect(&one).await, connect(&other).await);
    for expected in 1..=3 {
        let appended = one.append(tagged("one")).await.unwrap();
        assert_eq!(appended.first().get(), expected);
    }
    // Events of the other log do not conflict.
    let nothing = AppendCondition::fail_if(Query::all());
    let appended = other.append_if(tagged("other"), nothing).await.unwrap();
    assert_eq!(appended.first().get(), 1);
    assert_eq!((head(&one).await, head(&other).await), (3, 1));
    assert!(whole_log(&other).await[0].has_tag("other"));
    one.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn append_does_not_wait_for_another_log() {
    let (held, free) = (fresh_log().await, fresh_log().await);
    let (waiting, store) = (connect(&held).await, connect(&free).await);
    let mut lock = LogLock::take(&held).await;
    let append = tokio::spawn({
        let waiting = waiting.clone();
        async move { waiting.append(tagged("a")).await }
    });
    lock.wait_for_a_waiter().await;
    for expected in 1..=10 {
        assert_eq!(
            store.append(tagged("a")).await.unwrap().first().get(),
            expected
        );
    }
    assert!(!append.is_finished());
    lock.release().await;
    append.await.unwrap().unwrap();
    waiting.close().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_do_not_wait_for_a_writer() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let lock = LogLock::take(&log).await;
    assert_eq!(whole_log(&store).await.len(), 1);
    assert_eq!(head(&store).await, 1);
    lock.release().await;
    store.close().await;
}
