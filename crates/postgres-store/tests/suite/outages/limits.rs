//! Each call ends within its own limit.

use std::time::Duration;

use local_postgres::{Durability, SessionProxy};
use postgres_store::ServerConfig;
use store_fault::Fault;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::SHORT;
use crate::place::{Ground, LONG, in_time, private_server, soon, wait_until, wait_until_it_serves};
use crate::sql::Sql;
use crate::store::{Store, failure};

/// A read that waits for a lock loses the only connection, and another one is about to be opened when
/// the time of the waiting reads is over.
pub(crate) async fn read_that_waits_for_a_new_connection_times_out<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut config = ground.config(proxy.url());
    config.read_connections = 1;
    config.read_timeout = Duration::from_secs(2);
    let store = ground.connect(config).await;
    store.write().await.unwrap();
    store.ids().await.unwrap();
    let mut locker = Sql::connect(database.url()).await;
    locker.run("BEGIN").await;
    locker.run(&format!("LOCK TABLE {}", S::TABLE)).await;
    let mut reads = JoinSet::new();
    for _ in 0..4 {
        let store = store.clone();
        reads.spawn(async move { store.ids().await });
    }
    let mut observer = Sql::connect(database.url()).await;
    let waiting = format!(
        "FROM pg_locks WHERE NOT granted AND relation = '{}'::regclass",
        S::TABLE
    );
    let waits = format!("SELECT count(*) {waiting}");
    wait_until("a read waits", async || observer.number(&waits).await > 0).await;
    sleep(Duration::from_millis(1300)).await;
    proxy.silence_new(true);
    observer
        .run(&format!("SELECT pg_terminate_backend(pid) {waiting}"))
        .await;
    while let Some(read) = in_time(reads.join_next()).await {
        let failed = failure(read.unwrap());
        let fault = &failed.fault;
        assert!(matches!(fault, Some(Fault::TimedOut { .. })), "{failed:?}");
    }
    locker.run("COMMIT").await;
}

/// Two configurations: reads have little time, or writes have.
fn short_and_long<S: Store>(ground: &Ground<S>, url: &str) -> [ServerConfig; 2] {
    [(SHORT, LONG), (LONG, SHORT)].map(|(read, write)| {
        let mut config = ground.config(url);
        (config.read_timeout, config.write_timeout) = (read, write);
        config
    })
}

/// Makes each kind of call with the one limit that it has, while the other limit is long.
async fn assert_each_call_keeps_its_limit(config: &ServerConfig, store: &impl Store) {
    // `health` has a short limit.
    soon(store.health()).await.assert_no_answer();
    if config.read_timeout == SHORT {
        for read in store.reads() {
            let name = read.name;
            println!("{name}");
            soon(read.answer).await.assert_no_answer();
        }
        return;
    }
    // The first write loses its connection, so that its outcome is unknown.
    soon(store.write()).await;
    let mut next = soon(store.write()).await;
    // It may have waited behind the first one.
    if matches!(next.fault, Some(Fault::TimedOut { .. })) {
        next = soon(store.write()).await;
    }
    next.assert_no_answer();
}

pub(crate) async fn calls_to_a_refusing_server_end_within_one_limit_with_the_cause<S: Store>(
    ground: &Ground<S>,
) {
    let server = private_server(Durability::Relaxed).await;
    let configs = short_and_long(ground, server.url());
    let mut stores = Vec::new();
    for config in &configs {
        stores.push(ground.connect(config.clone()).await);
    }
    server.kill_hard().unwrap();
    for (config, store) in configs.iter().zip(&stores) {
        assert_each_call_keeps_its_limit(config, store).await;
    }
}

pub(crate) async fn calls_to_a_silent_server_end_within_one_limit_with_the_cause<S: Store>(
    ground: &Ground<S>,
) {
    let database = ground.database().await;
    for mut config in short_and_long(ground, database.url()) {
        let proxy = SessionProxy::start(database.url()).await;
        config.url = proxy.url().to_owned();
        let store = ground.connect(config.clone()).await;
        proxy.silence_new(true);
        proxy.silence();
        assert_each_call_keeps_its_limit(&config, &store).await;
    }
}

/// With `fail_fast`, only the attempt that finds the outage may take time.
async fn assert_calls_fail_at_once(store: &impl Store) {
    const CALLS: usize = 50;
    soon(store.head()).await;
    // The first write may lose its connection.
    soon(store.write()).await;
    // The second may wait behind it.
    soon(store.write()).await;
    let calls = async {
        for _ in 0..CALLS {
            soon(store.head()).await.assert_no_answer();
            soon(store.write()).await.assert_no_answer();
        }
    };
    // If each write waited for its own limit, they would take longer.
    in_time(calls).await;
}

pub(crate) async fn calls_fail_at_once_during_an_outage_if_the_store_shall<S: Store>(
    ground: &Ground<S>,
) {
    // Durable, because the store must outlast the crash.
    let server = private_server(Durability::Durable).await;
    let mut config = ground.config(server.url());
    config.fail_fast = true;
    (config.read_timeout, config.write_timeout) = (LONG, SHORT);
    let store = ground.connect(config.clone()).await;
    store.write().await.unwrap();
    let proxy = SessionProxy::start(server.url()).await;
    config.url = proxy.url().to_owned();
    let proxied = ground.connect(config).await;
    proxied.write().await.unwrap();
    proxy.silence_new(true);
    proxy.silence();
    assert_calls_fail_at_once(&proxied).await;
    proxy.silence_new(false);
    wait_until_it_serves(&proxied).await;
    server.kill_hard().unwrap();
    assert_calls_fail_at_once(&store).await;
    server.restart().await.unwrap();
    wait_until_it_serves(&store).await;
}
