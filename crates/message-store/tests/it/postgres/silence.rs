//! Connections that fall silent, as behind a firewall that forgets them.

use std::time::{Duration, Instant};

use local_postgres::SessionProxy;
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Category, ExpectedVersion, GlobalPosition, Listener, MessageStore as _, SubscribeOptions,
};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::postgres::{connect, fresh_store, message, stream_name, whole_stream, write};

/// How long it may take until dead connections are noticed. The slack is for a busy machine.
const NOTICED: Duration = Duration::from_secs(12);
const SLACK: Duration = Duration::from_millis(1500);

#[tokio::test(flavor = "multi_thread")]
async fn calls_keep_their_limits_when_connections_fall_silent() {
    let (database, direct) = fresh_store().await;
    let proxy = SessionProxy::start(database.url()).await;
    let config = Config::new(proxy.url());
    let (write_limit, read_limit) = (config.write_timeout, config.read_timeout);
    let store = connect(config).await;
    write(&store, "a-1", 1).await;
    let reads = || {
        let mut reads = JoinSet::new();
        for _ in 0..12 {
            let store = store.clone();
            reads.spawn(async move {
                let begun = Instant::now();
                let read = store.stream_version(&stream_name("a-1")).await;
                (begun.elapsed(), read)
            });
        }
        reads
    };
    // All connections for reads are open.
    reads().join_all().await;
    proxy.silence();

    let running = reads();
    let once = message(2).with_id(uuid::Uuid::now_v7());
    loop {
        let begun = Instant::now();
        let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
        let written = store.write_message(&stream, once.clone(), any).await;
        let took = begun.elapsed();
        assert!(took < write_limit + SLACK, "{took:?}");
        if written.is_ok() {
            break;
        }
    }
    for (took, read) in running.join_all().await {
        assert!(took < read_limit + SLACK, "{took:?}");
        read.unwrap();
    }
    // Nothing is left of it.
    let begun = Instant::now();
    reads().join_all().await;
    assert!(begun.elapsed() < SLACK);
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
    let unheard = timeout(NOTICED, messages.next()).await;
    unheard.expect("it is delivered").unwrap();
    for number in 3..5 {
        write(&direct, "a-1", number).await;
        let heard = timeout(NOTICED, messages.next()).await;
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
    timeout(NOTICED, state).await.expect("the state changes")
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_and_health_tell_whether_the_listener_hears() {
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
    assert!(since.elapsed().unwrap() < NOTICED);
    proxy.silence_new(false);
    let replaced = listener_once(&store, false).await;
    assert_eq!(replaced.replacements, 1);
    let health = store.health().await.unwrap();
    assert_eq!(health.listener, Some(replaced));
    store.close().await;
    assert_eq!(store.stats().listener, None);
}
