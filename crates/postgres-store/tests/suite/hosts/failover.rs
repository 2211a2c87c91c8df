//! A standby takes the place of a primary that has died.

use std::collections::HashSet;
use std::time::Duration;

use local_postgres::HaProxy;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{cluster, promote, replicate_synchronously, url};
use crate::place::{Ground, in_time, wait_until};
use crate::store::Store;

/// Writes until the end, and returns the ids that were acknowledged.
async fn write_until(store: impl Store, end: Instant) -> Vec<Uuid> {
    let mut acknowledged = Vec::new();
    while Instant::now() < end {
        let id = Uuid::now_v7();
        match store.write_as(id).await {
            Ok(()) => acknowledged.push(id),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
    acknowledged
}

/// One host in the URL: a proxy that leads to the server that answers.
pub(crate) async fn store_goes_on_behind_a_proxy_that_moves<S: Store>(ground: &Ground<S>) {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let standby = &standbys[0];
    let proxy = HaProxy::start(&[primary.url(), standby.url()]).await;
    let Some(proxy) = unmet::need("haproxy", proxy) else {
        return;
    };
    replicate_synchronously(&primary).await;
    let store = ground.open(&proxy.url(&url(&[primary.url()]))).await;
    let first = Uuid::now_v7();
    store.write_as(first).await.unwrap();
    primary.kill_hard().unwrap();
    promote(standby).await;
    wait_until("writes go on", async || store.write().await.is_ok()).await;
    assert_eq!(store.ids().await.unwrap()[0], first);
    store.close().await;
}

/// The store moves to the promoted standby without a restart. Replication is synchronous, so no
/// acknowledged record is lost.
pub(crate) async fn store_moves_to_a_promoted_standby<S: Store>(ground: &Ground<S>) {
    let Some((primary, standbys)) = cluster(1).await else {
        return;
    };
    let standby = &standbys[0];
    replicate_synchronously(&primary).await;
    let store = ground.open(&url(&[standby.url(), primary.url()])).await;
    store.write().await.unwrap();
    let (mut following, last) = (store.subscribe(None), Uuid::now_v7());
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.last() != Some(&last) {
            let next = S::next(&mut following).await;
            seen.push(next.expect("the subscription goes on"));
        }
        seen
    });
    let end = Instant::now() + Duration::from_secs(3);
    let callers: Vec<_> = (0..4)
        .map(|_| tokio::spawn(write_until(store.clone(), end)))
        .collect();
    sleep(Duration::from_millis(500)).await;
    primary.kill_hard().unwrap();
    sleep(Duration::from_millis(500)).await;
    promote(standby).await;
    wait_until("a write succeeds", async || store.write().await.is_ok()).await;
    let mut acknowledged = Vec::new();
    for caller in callers {
        acknowledged.extend(caller.await.unwrap());
    }
    assert!(!acknowledged.is_empty());
    store.write_as(last).await.unwrap();
    let stored = store.ids().await.unwrap();
    let distinct: HashSet<_> = stored.iter().collect();
    assert_eq!(distinct.len(), stored.len(), "a record is there twice");
    assert!(acknowledged.iter().all(|id| distinct.contains(id)));
    assert_eq!(in_time(seen).await.unwrap(), stored);
    store.verify().await;
    for call in store.reads().into_iter().chain(store.changes()) {
        call.succeed().await;
    }
    store.close().await;
}
