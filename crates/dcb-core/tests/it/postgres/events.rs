//! Events in the log.

use std::time::Duration;

use dcb_core::{Append, EventStore as _, Query, SubscribeOptions};
use local_postgres::SessionProxy;
use store_meter::testing::Log;

use crate::support::events::{read, tag, tagged, unless};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::sql::LogLock;
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

/// Existing connections fall silent, and new ones are too, while callers and subscriptions go on.
#[tokio::test]
async fn outage_is_told_once_by_each_part_whatever_fails_in_it() {
    let mut config = fresh_log().await;
    let proxy = SessionProxy::start(&config.url).await;
    config.url = proxy.url().to_owned();
    config.write_timeout = Duration::from_millis(1500);
    config.read_timeout = Duration::from_millis(1500);
    let log = Log::begin();
    let store = connect(&config).await;
    store.append(tagged("first")).await.unwrap();
    let subscriptions: Vec<_> = (0..7)
        .map(|_| {
            let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
            tokio::spawn(async move {
                for _ in 0..2 {
                    events.next().await.unwrap().unwrap();
                }
            })
        })
        .collect();
    wait_until("the store listens", async || {
        let listener = store.stats().listener;
        listener.is_some_and(|listener| listener.lost_since.is_none())
    })
    .await;
    proxy.silence_new(true);
    proxy.silence();
    for _ in 0..5 {
        store.append(tagged("fails")).await.unwrap_err();
        store.count(&Query::all()).await.unwrap_err();
    }
    wait_until("the listener is lost", async || {
        store.stats().listener.unwrap().lost_since.is_some()
    })
    .await;
    proxy.silence_new(false);
    wait_until("the store writes again", async || {
        store.append(tagged("later")).await.is_ok()
    })
    .await;
    for subscription in subscriptions {
        subscription.await.unwrap();
    }
    wait_until("the listener is replaced", async || {
        store.stats().listener.unwrap().lost_since.is_none()
    })
    .await;
    let port = format!(
        "port={}",
        proxy
            .url()
            .rsplit(':')
            .next()
            .unwrap()
            .split('/')
            .next()
            .unwrap()
    );
    log.assert_one(
        "PostgreSQL can't be reached",
        &["WARN", &port, "cause=", "dcb-core"],
    );
    log.assert_one(
        "PostgreSQL can be reached again",
        &["INFO", &port, "after="],
    );
    let channel = format!("channel=\"{}\"", config.schema);
    log.assert_one("the listener is lost", &["WARN", &channel, "cause="]);
    log.assert_one("the listener was replaced", &["INFO", "after="]);
    log.assert_one("subscriptions wait for the database", &["WARN", "cause="]);
    log.assert_one("subscriptions read again", &["INFO", "after="]);
    store.close().await;
}

#[tokio::test]
async fn lost_answer_is_told_with_its_outcome() {
    for (cut, found, repeated) in [(Cut::BeforeAnswer, 1, 0), (Cut::BeforeRequest, 0, 1)] {
        let mut config = fresh_log().await;
        let proxy = Proxy::start(&config.url).await;
        config.url = proxy.url().to_owned();
        let store = connect(&config).await;
        // Prepares the statement, so that the next append is one request.
        store.append(tagged("first")).await.unwrap();
        let log = Log::begin();
        for _ in 0..3 {
            proxy.cut(cut);
            let append = Append::new([tagged("a")]).condition(unless("b"));
            store.submit(append).await.unwrap();
        }
        log.assert_one("the answer to a write was lost", &["WARN", "port="]);
        let outcome = format!("found={found} repeated={repeated}");
        log.assert_one("writes whose answer was lost", &["INFO", &outcome]);
        assert_eq!(read(&store, &tag("a")).await.len(), 3);
        store.close().await;
    }
}

#[tokio::test]
async fn holder_of_the_logs_lock_is_told() {
    let mut config = fresh_log().await;
    config.write_timeout = Duration::from_secs(4);
    let store = connect(&config).await;
    store.append(tagged("a")).await.unwrap();
    let log = Log::begin();
    let lock = LogLock::take(&config).await;
    store.append(tagged("b")).await.unwrap_err();
    log.assert_one(
        "a lock of another session delays writes",
        &["WARN", "holder="],
    );
    lock.release().await;
    store.append(tagged("b")).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn installation_is_told_once() {
    let config = fresh_log().await;
    let log = Log::begin();
    for _ in 0..2 {
        connect(&config).await.close().await;
    }
    let schema = format!("schema=\"{}\"", config.schema);
    log.assert_one("the schema was installed", &["INFO", &schema, "from=0 to="]);
}
