use std::time::{Duration, Instant};

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Bookmark, EventStore as _, Query, ReadOptions};
use local_postgres::SessionProxy;
use tokio::time::{sleep, timeout};

use super::{READING, TIMEOUT, cluster, url, wait_until_in_use};
use crate::support::events::{at, tag, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on};

/// A store with one event that reads from these replicas.
async fn store_on(primary: &str, replicas: &[&str], adapt: impl Fn(&mut Config)) -> PostgresStore {
    let mut log = log_on(primary).replica_url(url(replicas));
    adapt(&mut log);
    let store = connect(&log).await;
    let first = store.append(tagged("a")).await.unwrap().last();
    wait_until_in_use(&store, replicas.len()).await;
    store.wait_for(first, TIMEOUT).await.unwrap();
    store
}

/// Reads for a while in all ways. Each read succeeds.
async fn read_for(store: &PostgresStore, duration: Duration) {
    let end = Instant::now() + duration;
    while Instant::now() < end {
        let reads = async {
            let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
            assert!(!read.events.is_empty());
            assert!(store.count(&tag("a")).await.unwrap() > 0);
            let mut stream = store
                .query_stream(&Query::all(), ReadOptions::new())
                .await
                .unwrap();
            stream.next().await.unwrap().unwrap();
        };
        timeout(TIMEOUT, reads).await.expect("the reads end");
        sleep(Duration::from_millis(1)).await;
    }
}

/// The sessions of stores at a server.
async fn sessions(url: &str) -> usize {
    let mut sql = Sql::connect(url).await;
    let count = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'dcb-core'";
    let count = sql.row(count).await;
    sql.close().await;
    count[0].parse().unwrap()
}

/// Reads until a session at this server reads, beside the one that watches.
async fn read_at(store: &PostgresStore, url: &str) {
    let reading = async {
        while sessions(url).await <= 1 {
            read_for(store, Duration::from_millis(50)).await;
        }
    };
    let reached = timeout(TIMEOUT, reading).await;
    reached.expect("reads use the replica");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_use_all_replicas_that_answer() {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let proxy = SessionProxy::start(standbys[0].url()).await;
    let store = store_on(primary.url(), &[proxy.url(), standbys[1].url()], |_| {}).await;
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
    let appended = store.append(tagged("a")).await.unwrap().last();
    assert_eq!(store.wait_for(appended, TIMEOUT).await.unwrap(), appended);
    for standby in &standbys {
        standby.restart().await.unwrap();
    }
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
    let replica = standbys[0].url();
    let store = store_on(primary.url(), &[replica], |log| log.max_replica_lag = lag).await;
    let mut sql = Sql::connect(replica).await;
    sql.run("SELECT pg_wal_replay_pause()").await;
    while sql.row("SELECT pg_get_wal_replay_pause_state()").await != ["paused"] {
        sleep(Duration::from_millis(5)).await;
    }
    // An idle log has no lag.
    sleep(lag * 2).await;
    wait_until_in_use(&store, 1).await;
    store.append(tagged("a")).await.unwrap();
    assert_eq!(store.head().await.unwrap(), Some(at(1)), "the replica's");
    timeout(lag + TIMEOUT, wait_until_in_use(&store, 0))
        .await
        .expect("the replica is left");
    assert_eq!(store.head().await.unwrap(), Some(at(2)), "the primary's");
    sql.run("SELECT pg_wal_replay_resume()").await;
    timeout(TIMEOUT, wait_until_in_use(&store, 1))
        .await
        .expect("the replica is back");
    assert_eq!(store.head().await.unwrap(), Some(at(2)));
    store.close().await;
}

/// The events of the rest are those of the primary, which has the same.
#[tokio::test(flavor = "multi_thread")]
async fn stream_goes_on_when_its_replica_falls_silent() {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let proxy = SessionProxy::start(standbys[0].url()).await;
    let store = store_on(primary.url(), &[proxy.url()], |_| {}).await;
    for _ in 0..40 {
        store
            .append((0..500).map(|_| tagged("a")).collect::<Vec<_>>())
            .await
            .unwrap();
    }
    let last = at(20_001);
    store.wait_for(last, TIMEOUT).await.unwrap();
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    assert_eq!(Bookmark::position_of(stream.head()), Some(last));
    for number in 1..=300 {
        assert_eq!(stream.next().await.unwrap().unwrap().position(), at(number));
    }
    proxy.silence_new(true);
    proxy.silence();
    let rest = async {
        for number in 301..=last.get() {
            assert_eq!(stream.next().await.unwrap().unwrap().position(), at(number));
        }
        assert!(stream.next().await.is_none());
    };
    timeout(TIMEOUT, rest).await.expect("the rest");
    store.close().await;
}

/// The rule for a single replica holds for several: after `wait_for`, no read misses the event.
#[tokio::test(flavor = "multi_thread")]
async fn reads_after_a_wait_see_the_event_at_every_replica() {
    let Some((primary, standbys)) = cluster(2).await else {
        return;
    };
    let replicas: Vec<&str> = standbys.iter().map(|standby| standby.url()).collect();
    let store = store_on(primary.url(), &replicas, |_| {}).await;
    for _ in 0..100 {
        let appended = store.append(tagged("a")).await.unwrap().last();
        let head = store.wait_for(appended, TIMEOUT).await.unwrap();
        assert!(head >= appended);
        for _ in 0..2 {
            let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
            assert_eq!(read.events.last().unwrap().position(), appended);
        }
    }
    store.close().await;
}
