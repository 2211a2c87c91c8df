//! Connections that fall silent, as behind a firewall that forgets them.

use std::time::{Duration, SystemTime};

use local_postgres::SessionProxy;
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Category, ExpectedVersion, GlobalPosition, Listener, MessageStore as _, SubscribeOptions,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::postgres::{connect, fresh_store, message, stream_name, whole_stream, write};

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A read fails at its limit, so that one that succeeds has kept it.
#[tokio::test(flavor = "multi_thread")]
async fn calls_succeed_on_other_connections_when_theirs_fall_silent() {
    let (database, direct) = fresh_store().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = connect(Config::new(proxy.url())).await;
    write(&store, "a-1", 1).await;
    let reads = || {
        let mut reads = JoinSet::new();
        for _ in 0..12 {
            let store = store.clone();
            reads.spawn(async move { store.stream_version(&stream_name("a-1")).await });
        }
        async move {
            let reads = timeout(TIMEOUT, reads.join_all()).await.expect("they end");
            assert!(reads.iter().all(Result::is_ok), "{reads:?}");
        }
    };
    // All connections for reads are open.
    reads().await;
    proxy.silence();

    let running = reads();
    let once = message(2).with_id(uuid::Uuid::now_v7());
    let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
    let writes = async {
        let write = || store.write_message(&stream, once.clone(), any);
        while write().await.is_err() {}
    };
    timeout(TIMEOUT, writes).await.expect("a write succeeds");
    running.await;
    // No read meets a silent connection any more.
    let lost = store.stats().lost_connections;
    reads().await;
    assert_eq!(store.stats().lost_connections, lost);
    assert_eq!(whole_stream(&direct, "a-1").await.len(), 2);
    store.close().await;
    direct.close().await;
}

/// The store polls so rarely that only its listener can deliver the message in time.
#[tokio::test(flavor = "multi_thread")]
async fn deaf_listener_is_replaced() {
    let (database, direct) = fresh_store().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = connect(Config::new(proxy.url())).await;
    let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
    let category = Category::of(&stream_name("a-1"));
    let mut messages = store.subscribe_to_category(category, GlobalPosition::START, never);
    write(&direct, "a-1", 1).await;
    messages.next().await.unwrap();
    proxy.silence();
    write(&direct, "a-1", 2).await;
    let unheard = timeout(TIMEOUT, messages.next()).await;
    unheard.expect("it is delivered").unwrap();
    for number in 3..5 {
        write(&direct, "a-1", number).await;
        let heard = timeout(TIMEOUT, messages.next()).await;
        heard.expect("it is delivered").unwrap();
    }
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
    let (database, direct) = fresh_store().await;
    direct.close().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = connect(Config::new(proxy.url())).await;
    assert_eq!(store.stats().listener, None);
    let _notifications = store.notifications();
    assert_eq!(listener_once(&store, false).await.replacements, 0);

    proxy.silence_new(true);
    proxy.silence();
    let since = listener_once(&store, true).await.lost_since.unwrap();
    assert!(begun <= since && since <= SystemTime::now());
    proxy.silence_new(false);
    let replaced = listener_once(&store, false).await;
    assert_eq!(replaced.replacements, 1);
    let health = store.health().await.unwrap();
    assert_eq!(health.listener, Some(replaced));
    store.close().await;
    assert_eq!(store.stats().listener, None);
}
