//! Health reports whether the store flushes commits.

use dcb_core::EventStore as _;
use dcb_core::sqlite::{Config, Durability, SqliteStore};

use crate::support::events::tagged;
use crate::support::sqlite::{Log, connect, fresh_log};

async fn assert_settings(log: &Log, synchronous: &str, durable: bool) {
    let store = connect(log).await;
    store.append(tagged("a")).await.unwrap();
    let health = store.health().await.unwrap();
    assert_eq!(
        health.durability,
        [
            ("journal_mode", "wal".to_owned()),
            ("synchronous", synchronous.to_owned())
        ]
    );
    assert_eq!(health.is_durable, durable);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_of_a_default_log_is_durable() {
    assert_settings(&fresh_log().await, "full", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_with_synchronous_normal_is_not_durable() {
    let mut log = fresh_log().await;
    log.durability = Durability::Normal;
    assert_settings(&log, "normal", false).await;
    // The setting belongs to the store, not to the file.
    log.durability = Durability::Full;
    assert_settings(&log, "full", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_of_a_memory_log_is_not_durable() {
    let store = SqliteStore::open(Config::memory()).await.unwrap();
    let health = store.health().await.unwrap();
    assert!(!health.is_durable, "{health:?}");
    store.close().await;
}
