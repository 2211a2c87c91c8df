//! Connections that close or fall silent outside of an append.

use std::time::{Duration, SystemTime};

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _, Listener, Query, ReadOptions, SubscribeOptions};
use futures_util::future::{join, join_all};
use local_postgres::SessionProxy;
use tokio::time::timeout;

use crate::support::events::{read, tag, tagged};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log, log_on, server};

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
async fn store_recovers_from_terminated_idle_connections() {
    let database = server().await.create_database("idle").await.unwrap();
    let store = connect(&log_on(database.url())).await;
    let mut sql = Sql::connect(database.url()).await;
    for _ in 0..3 {
        sql.run(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
              WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
        store.health().await.unwrap();
    }
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_writer_connection_is_replaced() {
    let (proxy, store) = through_a_proxy().await;
    proxy.cut_at("current_setting($1)", Cut::Silence, 1);
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
        let lost = tokio::spawn({
            let store = store.clone();
            async move { store.append(tagged("lost")).await }
        });
        in_time(async {
            while !proxy.has_cut() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        proxy.cut_at("pg_terminate_backend", cut, usize::MAX);
        let lost = in_time(lost).await.unwrap();
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

/// Existing connections fall silent, as behind a firewall that forgets them. New ones pass. A read fails
/// at its limit, so that one that succeeds has kept it.
#[tokio::test(flavor = "multi_thread")]
async fn calls_succeed_on_other_connections_when_theirs_fall_silent() {
    let log = fresh_log().await;
    let direct = connect(&log).await;
    let proxy = SessionProxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    let store = connect(&through).await;
    let event = tagged("a").with_id(uuid::Uuid::now_v7());
    store.append(tagged("a")).await.unwrap();
    // All connections for reads are open.
    let count = Query::all();
    join_all((0..40).map(|_| store.count(&count))).await;
    proxy.silence();

    let reads = join_all((0..12).map(|_| store.count(&count)));
    let append = async { while store.append(event.clone()).await.is_err() {} };
    let (reads, ()) = in_time(join(reads, append)).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    // No read meets a silent connection any more.
    let lost = store.stats().lost_connections;
    let reads = in_time(join_all((0..12).map(|_| store.count(&count)))).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    assert_eq!(store.stats().lost_connections, lost);
    assert_eq!(read(&direct, &tag("a")).await.len(), 2);
    store.close().await;
    direct.close().await;
}

/// A store polls so rarely that only its listener can deliver the event in time.
#[tokio::test(flavor = "multi_thread")]
async fn deaf_listener_is_replaced() {
    let log = fresh_log().await;
    let direct = connect(&log).await;
    let proxy = SessionProxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    let store = connect(&through).await;
    let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
    let mut events = store.subscribe(Query::all(), None, never);
    direct.append(tagged("first")).await.unwrap();
    in_time(events.next()).await.unwrap().unwrap();
    proxy.silence();
    direct.append(tagged("unheard")).await.unwrap();
    let unheard = timeout(TIMEOUT, events.next()).await;
    unheard.expect("it is delivered").unwrap().unwrap();
    for _ in 0..2 {
        direct.append(tagged("heard")).await.unwrap();
        let heard = timeout(TIMEOUT, events.next()).await;
        heard.expect("it is delivered").unwrap().unwrap();
    }
    store.close().await;
    direct.close().await;
}

/// For a while new connections are silent too, so nothing can be replaced.
#[tokio::test(flavor = "multi_thread")]
async fn subscription_goes_on_once_connections_work_again() {
    let log = fresh_log().await;
    let direct = connect(&log).await;
    let proxy = SessionProxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    let store = connect(&through).await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    direct.append(tagged("first")).await.unwrap();
    in_time(events.next()).await.unwrap().unwrap();
    proxy.silence_new(true);
    proxy.silence();
    direct.append(tagged("second")).await.unwrap();
    let too_early = timeout(Duration::from_secs(6), events.next()).await;
    assert!(too_early.is_err());
    proxy.silence_new(false);
    let second = timeout(TIMEOUT, events.next()).await;
    second.expect("it is delivered").unwrap().unwrap();
    store.close().await;
    direct.close().await;
}

/// The state of the listener, once it is lost or hears.
async fn listener_once(store: &PostgresStore, is_lost: bool) -> Listener {
    let state = async {
        loop {
            let listener = store.stats().listener.expect("there is one");
            if listener.lost_since.is_some() == is_lost {
                return listener;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, state).await.expect("the state changes")
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_and_health_tell_whether_the_listener_hears() {
    let begun = SystemTime::now();
    let log = fresh_log().await;
    let proxy = SessionProxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    let store = connect(&through).await;
    assert_eq!(store.stats().listener, None);
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    store.append(tagged("a")).await.unwrap();
    in_time(events.next()).await.unwrap().unwrap();
    assert_eq!(listener_once(&store, false).await.replacements, 0);

    proxy.silence_new(true);
    proxy.silence();
    let since = listener_once(&store, true).await.lost_since.unwrap();
    assert!(begun <= since && since <= SystemTime::now());
    proxy.silence_new(false);
    let replaced = listener_once(&store, false).await;
    assert_eq!(replaced.replacements, 1);
    let health = in_time(store.health()).await.unwrap();
    assert_eq!(health.listener, Some(replaced));
    store.close().await;
    assert_eq!(store.stats().listener, None);
}
