//! The durability of commits in the health.

use sqlite_store::{Durability, FileConfig, Location};

use crate::Place;
use crate::store::Store;

/// The setting belongs to the store, not to the file.
pub(crate) async fn health_tells_whether_each_commit_is_flushed<S: Store>(place: &Place<S>) {
    for (durability, synchronous, is_durable) in [
        (Durability::Full, "full", true),
        (Durability::Normal, "normal", false),
        (Durability::Full, "full", true),
    ] {
        let mut file = place.file();
        file.durability = durability;
        let store = S::open(file).await.expect("the store opens");
        store.write().await.unwrap();
        let health = store.health().await.unwrap();
        let settings = [("journal_mode", "wal"), ("synchronous", synchronous)];
        assert_eq!(
            health.durability,
            settings.map(|(name, value)| (name, value.to_owned()))
        );
        assert_eq!(health.is_durable, is_durable);
        store.close().await;
    }
}

pub(crate) async fn store_in_memory_is_not_durable<S: Store>(_: &Place<S>) {
    let store = S::open(FileConfig::new(Location::Memory)).await;
    let store = store.expect("the store opens");
    let health = store.health().await.unwrap();
    assert!(!health.is_durable, "{health:?}");
    store.close().await;
}
