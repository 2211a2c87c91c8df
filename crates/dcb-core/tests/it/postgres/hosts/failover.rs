use std::collections::HashSet;
use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use dcb_core::{AppendCondition, EventStore as _, Position, Query, SubscribeOptions};
use local_postgres::{HaProxy, LocalPostgres};
use tokio::time::{Instant, sleep, timeout};

use super::{TIMEOUT, cluster, url};
use crate::support::events::{at, tag, tagged, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on};

/// Appends until the end, and returns the positions that were acknowledged.
async fn append_until(store: PostgresStore, end: Instant) -> Vec<Position> {
    let mut acknowledged = Vec::new();
    while Instant::now() < end {
        match store.append(tagged("a")).await {
            Ok(appended) => acknowledged.push(appended.first()),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
    acknowledged
}

/// From now on, an acknowledged append is on the standby's disk.
async fn replicate_synchronously(primary: &LocalPostgres) {
    let mut sql = Sql::connect(primary.url()).await;
    sql.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        .await;
    sql.run("SELECT pg_reload_conf()").await;
}

/// One host in the URL: a proxy that leads to the server that answers.
#[tokio::test(flavor = "multi_thread")]
async fn store_goes_on_behind_a_proxy_that_moves() {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let standby = &standbys[0];
    let proxy = HaProxy::start(&[primary.url(), standby.url()]).await;
    let Some(proxy) = unmet::need("haproxy", proxy) else {
        return;
    };
    replicate_synchronously(&primary).await;
    let store = connect(&log_on(&proxy.url(&url(&[primary.url()])))).await;
    let first = store.append(tagged("first")).await.unwrap().last();
    primary.kill_hard().unwrap();
    Sql::connect(standby.url())
        .await
        .run("SELECT pg_promote()")
        .await;
    let moved = async {
        while store.append(tagged("a")).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, moved).await.expect("appends go on");
    assert_eq!(whole_log(&store).await[0].position(), first);
    store.close().await;
}

/// The store moves to the promoted standby without a restart. Replication is synchronous, so no
/// acknowledged event is lost.
#[tokio::test(flavor = "multi_thread")]
async fn store_moves_to_a_promoted_standby() {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let standby = &standbys[0];
    replicate_synchronously(&primary).await;
    let store = connect(&log_on(&url(&[primary.url(), standby.url()]))).await;
    store.append(tagged("first")).await.unwrap();
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            let event = event.expect("the subscription goes on");
            if event.tags().any(|tag| tag == "last") {
                break;
            }
            seen.push(event.position());
        }
        seen
    });
    let end = Instant::now() + Duration::from_secs(3);
    let callers: Vec<_> = (0..4)
        .map(|_| tokio::spawn(append_until(store.clone(), end)))
        .collect();
    sleep(Duration::from_millis(500)).await;
    primary.kill_hard().unwrap();
    sleep(Duration::from_millis(500)).await;
    Sql::connect(standby.url())
        .await
        .run("SELECT pg_promote()")
        .await;
    let appended = async {
        while store.append(tagged("a")).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, appended)
        .await
        .expect("an append succeeds");
    let mut acknowledged = HashSet::new();
    for caller in callers {
        for position in caller.await.unwrap() {
            assert!(acknowledged.insert(position), "{position} twice");
        }
    }
    // A decision on the new primary, which the log's past refuses.
    let condition = AppendCondition::fail_if(tag("a")).after(at(1));
    store.append_if(tagged("a"), condition).await.unwrap_err();
    store.append(tagged("last")).await.unwrap();
    let log: Vec<_> = whole_log(&store)
        .await
        .iter()
        .map(|event| event.position())
        .collect();
    let expected: Vec<_> = (1..=log.len() as u64).map(at).collect();
    assert_eq!(log, expected, "dense positions");
    assert!(acknowledged.iter().all(|position| log.contains(position)));
    let seen = timeout(TIMEOUT, seen).await;
    assert_eq!(seen.expect("it ends").unwrap(), log[..log.len() - 1]);
    store.close().await;
}
