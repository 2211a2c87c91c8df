//! Reads at replicas that fall silent, lag or die.

use std::time::Duration;

use local_postgres::SessionProxy;
use postgres_store::ServerConfig;
use tokio::time::{Instant, sleep};

use super::{cluster, url};
use crate::place::{Ground, count, in_time, wait_until};
use crate::sql::Sql;
use crate::store::Store;

/// How long the cases read after a change.
const READING: Duration = Duration::from_secs(2);

async fn wait_until_in_use(store: &impl Store, replicas: usize) {
    wait_until("the replicas are in use", async || {
        store.replicas_in_use() == replicas
    })
    .await;
}

/// A store with one record that reads from these replicas.
async fn store_on<S: Store>(
    ground: &Ground<S>,
    primary: &str,
    replicas: &[&str],
    adapt: impl Fn(&mut ServerConfig),
) -> S {
    let mut config = ground.config(primary);
    config.replica_url = Some(url(replicas));
    adapt(&mut config);
    let store = ground.connect(config).await;
    store.write().await.unwrap();
    wait_until_in_use(&store, replicas.len()).await;
    wait_until("the replicas have the record", async || {
        count(&store).await == 1
    })
    .await;
    store
}

/// Reads for a while in all ways. Each read succeeds.
async fn read_for(store: &impl Store, duration: Duration) {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        assert!(in_time(count(store)).await > 0);
        for read in store.reads() {
            in_time(read.succeed()).await;
        }
        sleep(Duration::from_millis(1)).await;
    }
}

/// Reads until a session at this server reads, beside the one that watches.
async fn read_at<S: Store>(store: &S, url: &str) {
    let count = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}'",
        S::APPLICATION
    );
    let mut sql = Sql::connect(url).await;
    wait_until("reads use the replica", async || {
        read_for(store, Duration::from_millis(50)).await;
        sql.number(&count).await > 1
    })
    .await;
}

pub(crate) async fn reads_use_all_replicas_that_answer<S: Store>(ground: &Ground<S>) {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let proxy = SessionProxy::start(standbys[0].url()).await;
    let replicas = [proxy.url(), standbys[1].url()];
    let store = store_on(ground, primary.url(), &replicas, |_| {}).await;
    for standby in &standbys {
        read_at(&store, standby.url()).await;
    }
    // A replica falls silent.
    proxy.silence_new(true);
    proxy.silence();
    read_for(&store, READING).await;
    wait_until_in_use(&store, 1).await;
    proxy.silence_new(false);
    wait_until_in_use(&store, 2).await;
    // The other one dies.
    standbys[1].kill_hard().unwrap();
    read_for(&store, READING).await;
    wait_until_in_use(&store, 1).await;
    // And the first one too, which leaves the primary.
    standbys[0].kill_hard().unwrap();
    read_for(&store, READING).await;
    wait_until_in_use(&store, 0).await;
    in_time(store.write_and_wait()).await.unwrap();
    assert_eq!(count(&store).await, 2);
    for standby in &standbys {
        standby.restart().await.unwrap();
    }
    wait_until_in_use(&store, 2).await;
    read_at(&store, standbys[1].url()).await;
    store.close().await;
}

pub(crate) async fn reads_leave_a_replica_that_lags_too_far<S: Store>(ground: &Ground<S>) {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let lag = Duration::from_secs(1);
    let replica = standbys[0].url();
    let store = store_on(ground, primary.url(), &[replica], |config| {
        config.max_replica_lag = lag;
    })
    .await;
    let mut sql = Sql::connect(replica).await;
    sql.run("SELECT pg_wal_replay_pause()").await;
    wait_until("replay is paused", async || {
        sql.text("SELECT pg_get_wal_replay_pause_state()").await == "paused"
    })
    .await;
    // An idle store has no lag.
    sleep(lag * 2).await;
    wait_until_in_use(&store, 1).await;
    store.write().await.unwrap();
    assert_eq!(count(&store).await, 1, "the replica's");
    wait_until_in_use(&store, 0).await;
    assert_eq!(count(&store).await, 2, "the primary's");
    sql.run("SELECT pg_wal_replay_resume()").await;
    wait_until_in_use(&store, 1).await;
    assert_eq!(count(&store).await, 2);
    store.close().await;
}

/// The rule for a single replica holds for several: after the wait, no read misses the record.
pub(crate) async fn reads_after_a_wait_see_the_write_at_every_replica<S: Store>(
    ground: &Ground<S>,
) {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let replicas: Vec<&str> = standbys.iter().map(|standby| standby.url()).collect();
    let store = store_on(ground, primary.url(), &replicas, |_| {}).await;
    for number in 2..=100 {
        in_time(store.write_and_wait()).await.unwrap();
        for _ in 0..2 {
            assert_eq!(count(&store).await, number);
        }
    }
    store.close().await;
}

/// The replica lags by less than it may, so it is in use again.
pub(crate) async fn reads_after_a_wait_see_the_write_when_a_replica_comes_back<S: Store>(
    ground: &Ground<S>,
) {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let proxy = SessionProxy::start(standbys[0].url()).await;
    let patient = |config: &mut ServerConfig| config.max_replica_lag = Duration::from_secs(600);
    let store = store_on(ground, primary.url(), &[proxy.url()], patient).await;
    let mut sql = Sql::connect(standbys[0].url()).await;
    sql.run("SELECT pg_wal_replay_pause()").await;
    wait_until("replay is paused", async || {
        sql.text("SELECT pg_get_wal_replay_pause_state()").await == "paused"
    })
    .await;
    proxy.silence_new(true);
    proxy.silence();
    wait_until_in_use(&store, 0).await;
    in_time(store.write_and_wait()).await.unwrap();
    proxy.silence_new(false);
    wait_until_in_use(&store, 1).await;
    for _ in 0..5 {
        assert_eq!(in_time(count(&store)).await, 2);
    }
    sql.run("SELECT pg_wal_replay_resume()").await;
    store.close().await;
}
