//! A kept projection whose connection falls silent.

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Bookmark, EventStore as _, ProjectionRunner, SubscribeOptions};
use local_postgres::SessionProxy;

use super::tally::{Tally, expected};
use crate::support::events::{tag, tagged};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

/// A runner of `tally` over the connection at `url`, which applies an event, falls silent and goes on.
async fn goes_on(log: &Config, store: &PostgresStore, url: &str, falls_silent: impl FnOnce()) {
    Tally::install(log).await;
    store.append(tagged("a")).await.unwrap();
    let mut through = log.clone();
    through.url = url.to_owned();
    let model = Tally::new(log).model(&through);
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model)
        .options(SubscribeOptions::new().batch_size(1));
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.run().await });
    wait_until("the first event is applied", async || {
        progress.position() == Bookmark::position_of(store.head().await.unwrap())
    })
    .await;
    falls_silent();
    store.append(tagged("a")).await.unwrap();
    wait_until("the outage shows", async || progress.outage().is_some()).await;
    wait_until("the projection goes on", async || {
        progress.outage().is_none()
            && progress.position() == Bookmark::position_of(store.head().await.unwrap())
    })
    .await;
    assert_eq!(Tally::seen(log).await, expected(store).await);
    running.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connection_is_replaced() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let proxy = SessionProxy::start(&log.url).await;
    goes_on(&log, &store, proxy.url(), || proxy.silence()).await;
    store.close().await;
}

/// The server does not learn that the connection is lost, so its session keeps the lock of the checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn silent_transaction_loses_its_locks() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let proxy = Proxy::start(&log.url).await;
    let falls_silent = || proxy.cut_at("COMMIT", Cut::Silence, 1);
    goes_on(&log, &store, proxy.url(), falls_silent).await;
    assert!(proxy.has_cut());
    store.close().await;
}
