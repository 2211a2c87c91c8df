//! Connections that end or fall silent, as behind a firewall that forgets them.

use std::time::{Duration, SystemTime};

use futures_util::future::{join, join_all};
use local_postgres::SessionProxy;
use store_fault::Listener;
use tokio::time::timeout;
use uuid::Uuid;

use crate::place::{Ground, LONG, NEVER, count, in_time, wait_until};
use crate::sql::Sql;
use crate::store::Store;

pub(crate) async fn store_recovers_from_terminated_idle_connections<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let store = ground.open(database.url()).await;
    let mut sql = Sql::connect(database.url()).await;
    for written in 1..=3 {
        sql.end_others().await;
        store.health().await.unwrap();
        // All connections for reads are open.
        join_all((0..40).map(|_| store.head())).await;
        sql.end_others().await;
        store.head().await.unwrap();
        let reads = join_all((0..12).map(|_| store.head())).await;
        assert!(reads.iter().all(Result::is_ok), "{reads:?}");
        store.health().await.unwrap();
        store.write().await.unwrap();
        assert_eq!(count(&store).await, written);
    }
    store.close().await;
}

/// Both a reader and the writer are silent. Each takes two of the three seconds that `health` has.
pub(crate) async fn healthy_store_has_no_silent_connection<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut config = ground.config(proxy.url());
    // Only a sign of life that is missing tells that a connection is silent.
    (config.read_timeout, config.write_timeout) = (LONG, LONG);
    let store = ground.connect(config).await;
    let mut healthy_at_once = 0;
    for _ in 0..3 {
        store.write().await.unwrap();
        proxy.silence();
        healthy_at_once += u32::from(store.health().await.is_ok());
        wait_until("the store is healthy", async || {
            store.health().await.is_ok()
        })
        .await;
        store.write().await.unwrap();
    }
    assert_eq!(count(&store).await, 6);
    // A busy machine may miss the time once.
    assert!(healthy_at_once >= 2, "{healthy_at_once} of 3");
    store.close().await;
}

/// New connections pass. A read fails at its limit, so that one that succeeds has kept it.
pub(crate) async fn calls_succeed_on_other_connections_when_theirs_fall_silent<S: Store>(
    ground: &Ground<S>,
) {
    let database = ground.database().await;
    let direct = ground.open(database.url()).await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = ground.open(proxy.url()).await;
    store.write().await.unwrap();
    // All connections for reads are open.
    join_all((0..40).map(|_| store.head())).await;
    proxy.silence();

    let once = Uuid::now_v7();
    let reads = join_all((0..12).map(|_| store.head()));
    let write = async { while store.write_as(once).await.is_err() {} };
    let (reads, ()) = in_time(join(reads, write)).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    // No read meets a silent connection any more.
    let lost = store.lost_connections();
    let reads = in_time(join_all((0..12).map(|_| store.head()))).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    assert_eq!(store.lost_connections(), lost);
    assert_eq!(count(&direct).await, 2);
    store.close().await;
    direct.close().await;
}

pub(crate) async fn deaf_listener_is_replaced<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let direct = ground.open(database.url()).await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = ground.open(proxy.url()).await;
    let mut following = store.subscribe(Some(NEVER));
    direct.write().await.unwrap();
    in_time(S::next(&mut following)).await.unwrap();
    proxy.silence();
    for _ in 0..3 {
        direct.write().await.unwrap();
        in_time(S::next(&mut following)).await.unwrap();
    }
    store.close().await;
    direct.close().await;
}

/// For a while new connections are silent too, so nothing can be replaced, and reads fail.
pub(crate) async fn subscription_goes_on_once_connections_work_again<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let direct = ground.open(database.url()).await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut config = ground.config(proxy.url());
    config.read_timeout = Duration::from_secs(1);
    let store = ground.connect(config).await;
    let mut following = store.subscribe(None);
    direct.write().await.unwrap();
    in_time(S::next(&mut following)).await.unwrap();
    proxy.silence_new(true);
    proxy.silence();
    direct.write().await.unwrap();
    let too_early = timeout(Duration::from_secs(6), S::next(&mut following)).await;
    assert!(too_early.is_err());
    proxy.silence_new(false);
    in_time(S::next(&mut following)).await.unwrap();
    store.close().await;
    direct.close().await;
}

/// The state of the listener, once it is lost or hears.
async fn listener_once(store: &impl Store, is_lost: bool) -> Listener {
    let state = || store.listener().expect("there is one");
    wait_until("the state changes", async || {
        state().lost_since.is_some() == is_lost
    })
    .await;
    state()
}

pub(crate) async fn stats_and_health_tell_whether_the_listener_hears<S: Store>(ground: &Ground<S>) {
    let begun = SystemTime::now();
    let database = ground.database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let store = ground.open(proxy.url()).await;
    assert_eq!(store.listener(), None);
    let mut following = store.subscribe(None);
    store.write().await.unwrap();
    in_time(S::next(&mut following)).await.unwrap();
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
    assert_eq!(store.listener(), None);
}
