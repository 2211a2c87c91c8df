//! Many followers, which one notification wakes.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance_suite::poll_once;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::place::{Ground, in_time, wait_until};
use crate::sql::Sql;
use crate::store::Store;

const FOLLOWERS: usize = 320;
/// The stores' listeners hold one of these locks.
const LISTENER: &str = "FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' \
     AND classid IN (1145262644, 1297306964) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The listener is replaced, which wakes all followers, while their reads wait for a lock.
pub(crate) async fn read_does_not_wait_behind_all_followers<S: Store>(ground: &Ground<S>) {
    let database = ground.database().await;
    let mut config = ground.config(database.url());
    config.read_connections = 1;
    let store = ground.connect(config).await;
    store.write().await.unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let mut followers = JoinSet::new();
    for number in 0..FOLLOWERS {
        let (mut following, seen) = (store.follow_as(number), Arc::clone(&seen));
        followers.spawn(async move {
            for _ in 0..2 {
                S::next(&mut following).await.unwrap();
                seen.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let all_have_seen = async |records: usize| {
        wait_until("all have seen the records", async || {
            seen.load(Ordering::Relaxed) == records * FOLLOWERS
        })
        .await;
    };
    all_have_seen(1).await;

    let mut lock = Sql::connect(database.url()).await;
    let mut sql = Sql::connect(database.url()).await;
    lock.run(&format!("BEGIN; LOCK TABLE {}", S::TABLE)).await;
    let before = store.reads_so_far();
    let end = format!("SELECT count(pg_terminate_backend(pid)) {LISTENER}");
    assert_eq!(sql.number(&end).await, 1);
    wait_until("the listener is replaced", async || {
        let listener = store.listener().expect("the followers listen");
        (listener.lost_since, listener.replacements) == (None, 1)
    })
    .await;
    // The followers come within this time. If they did not, the read would not wait behind them.
    sleep(Duration::from_millis(500)).await;
    let mut read = pin!(store.head());
    assert!(poll_once(read.as_mut()).await.is_none(), "it waits");
    lock.run("COMMIT").await;
    in_time(read).await.unwrap();
    let reads = store.reads_so_far() - before;
    let of_all = FOLLOWERS / S::READS_IN_A_STATEMENT;
    assert!(reads < of_all as u64 / 2, "{reads} reads before it");

    store.write().await.unwrap();
    all_have_seen(2).await;
    in_time(followers.join_all()).await;
    store.close().await;
}
