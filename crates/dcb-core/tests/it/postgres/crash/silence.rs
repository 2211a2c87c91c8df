//! Connections that close or fall silent outside of an append.

use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _, Query, ReadOptions};
use tokio::time::timeout;

use crate::support::events::{read, tag, tagged};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::{connect, fresh_log};

const SHORT: Duration = Duration::from_millis(500);
/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A store with short timeouts that connects through a proxy.
async fn through_a_proxy() -> (Proxy, PostgresStore) {
    let mut log = fresh_log().await;
    let proxy = Proxy::start(&log.url).await;
    log.url = proxy.url().to_owned();
    log.write_timeout = SHORT;
    log.read_timeout = SHORT;
    let store = connect(&log).await;
    (proxy, store)
}

async fn in_time<T>(call: impl Future<Output = T>) -> T {
    timeout(TIMEOUT, call).await.expect("the call ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_writer_connection_is_replaced() {
    let (proxy, store) = through_a_proxy().await;
    // Not the question of a new connection, which asks for a setting too.
    proxy.cut_at("current_setting('server_version')", Cut::Silence, 1);
    in_time(store.health()).await.unwrap();
    assert!(proxy.has_cut());
    store.append(tagged("a")).await.unwrap();
    store.close().await;
}

/// To end the session of a lost connection, the store uses a second connection. That one breaks
/// too.
#[tokio::test(flavor = "multi_thread")]
async fn appends_resume_after_a_second_broken_connection() {
    for cut in [Cut::BeforeRequest, Cut::Silence] {
        let (proxy, store) = through_a_proxy().await;
        proxy.cut_at("append(", Cut::BeforeRequest, 1);
        proxy.then_cut_at("pg_terminate_backend", cut, usize::MAX);
        let lost = in_time(store.append(tagged("lost"))).await;
        assert!(
            matches!(lost, Err(Error::OutcomeUnknown { .. })),
            "{lost:?}"
        );
        let next = in_time(store.append(tagged("next"))).await;
        assert!(next.is_err(), "{next:?}");
        proxy.pass();
        in_time(async { while store.append(tagged("later")).await.is_err() {} }).await;
        assert!(!read(&store, &tag("later")).await.is_empty());
        assert!(read(&store, &tag("lost")).await.is_empty());
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_on_a_silent_connection_continues_on_another() {
    let (proxy, store) = through_a_proxy().await;
    store.append(vec![tagged("a"); 3]).await.unwrap();
    proxy.cut_at("LEFT JOIN h ON true UNION ALL", Cut::Silence, 1);
    let seen = in_time(async {
        let stream = store.query_stream(&Query::all(), ReadOptions::new()).await;
        let mut stream = stream.unwrap();
        let mut seen = 0;
        while let Some(event) = stream.next().await {
            event.unwrap();
            seen += 1;
        }
        seen
    });
    assert_eq!(seen.await, 3);
    assert!(proxy.has_cut());
    store.close().await;
}
