use std::time::{Duration, Instant};

use local_postgres::SessionProxy;
use message_store::postgres::{Config, PostgresStore};
use message_store::{ExpectedVersion, MessageStore as _};
use tokio::time::{sleep, timeout};

use super::{READING, TIMEOUT, cluster, url};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, message, stream_name, wait_until, whole_category, whole_stream, write,
};

async fn wait_until_in_use(store: &PostgresStore, replicas: usize) {
    wait_until("the replicas are in use", async || {
        store.replicas_in_use() == replicas
    })
    .await;
}

/// A store with one message that reads from these replicas.
async fn store_on(primary: &str, replicas: &[&str], max_lag: Duration) -> PostgresStore {
    let mut config = Config::new(primary).replica_url(url(replicas));
    config.max_replica_lag = max_lag;
    let store = connect(config).await;
    write(&store, "a-1", 1).await;
    wait_until_in_use(&store, replicas.len()).await;
    store
}

/// Reads for a while. Each read succeeds.
async fn read_for(store: &PostgresStore, duration: Duration) {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        let reads = async {
            assert!(!whole_stream(store, "a-1").await.is_empty());
            assert!(!whole_category(store, "a").await.is_empty());
            let version = store.stream_version(&stream_name("a-1")).await.unwrap();
            assert!(version.is_some());
        };
        timeout(TIMEOUT, reads).await.expect("the reads end");
        sleep(Duration::from_millis(1)).await;
    }
}

async fn sessions(url: &str) -> u64 {
    let mut sql = Sql::connect(url).await;
    let count = "SELECT count(*)::text FROM pg_stat_activity \
                  WHERE application_name = 'message-store'";
    sql.value(count).await.parse().unwrap()
}

const MAX_LAG: Duration = Duration::from_secs(10);

/// Reads until a session at this server reads, beside the one that watches.
async fn read_at(store: &PostgresStore, url: &str) {
    wait_until("reads use the replica", async || {
        read_for(store, Duration::from_millis(50)).await;
        sessions(url).await > 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_use_all_replicas_that_answer() {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let proxy = SessionProxy::start(standbys[0].url()).await;
    let store = store_on(primary.url(), &[proxy.url(), standbys[1].url()], MAX_LAG).await;
    for standby in &standbys {
        read_at(&store, standby.url()).await;
    }
    proxy.silence_new(true);
    proxy.silence();
    read_for(&store, READING).await;
    wait_until_in_use(&store, 1).await;
    standbys[1].kill_hard().unwrap();
    read_for(&store, READING).await;
    wait_until_in_use(&store, 0).await;
    proxy.silence_new(false);
    standbys[1].restart().await.unwrap();
    wait_until_in_use(&store, 2).await;
    read_at(&store, standbys[1].url()).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_leave_a_replica_that_lags_too_far() {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let lag = Duration::from_secs(1);
    let store = store_on(primary.url(), &[standbys[0].url()], lag).await;
    let mut sql = Sql::connect(standbys[0].url()).await;
    sql.run("SELECT pg_wal_replay_pause()").await;
    while sql.value("SELECT pg_get_wal_replay_pause_state()").await != "paused" {
        sleep(Duration::from_millis(5)).await;
    }
    write(&store, "a-1", 2).await;
    assert_eq!(whole_stream(&store, "a-1").await.len(), 1, "the replica's");
    let left = timeout(lag + TIMEOUT, wait_until_in_use(&store, 0)).await;
    left.expect("the replica is left");
    assert_eq!(whole_stream(&store, "a-1").await.len(), 2, "the primary's");
    sql.run("SELECT pg_wal_replay_resume()").await;
    let back = timeout(TIMEOUT, wait_until_in_use(&store, 1)).await;
    back.expect("the replica is back");
    store.close().await;
}

/// The rule for a single replica holds for several: after `wait_for`, no read misses the message.
#[tokio::test(flavor = "multi_thread")]
async fn reads_after_a_wait_see_the_message_at_every_replica() {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let replicas: Vec<&str> = standbys.iter().map(|standby| standby.url()).collect();
    let store = store_on(primary.url(), &replicas, MAX_LAG).await;
    let name = stream_name("a-1");
    for number in 2..100 {
        let written = store.write_message(&name, message(number), ExpectedVersion::Any);
        store
            .wait_for(written.await.unwrap().global_position)
            .await
            .unwrap();
        for _ in 0..2 {
            assert_eq!(whole_stream(&store, "a-1").await.len() as u64, number);
        }
    }
    store.close().await;
}
