//! A store that several runtimes share. Its listener must not end with the runtime that started it.

use std::time::Duration;

use message_store::MessageStore as _;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_store, wait_until, write};

#[test]
fn store_listens_again_after_the_runtime_of_its_listener_has_ended() {
    let first = Runtime::new().unwrap();
    let (database, store) = first.block_on(async {
        let (database, store) = fresh_store().await;
        let _hints = store.notifications();
        wait_until("the store listens", async || {
            let listener = store.stats().listener;
            listener.is_some_and(|listener| listener.lost_since.is_none())
        })
        .await;
        (database, store)
    });
    first.shutdown_timeout(Duration::from_secs(5));
    Runtime::new().unwrap().block_on(async {
        write(&store, "a-1", 1).await;
        let mut hints = store.notifications();
        let mut other = Sql::connect(database.url()).await;
        wait_until("a hint of another process arrives", async || {
            other.run("SELECT pg_notify('message_store', '')").await;
            let hint = timeout(Duration::from_millis(100), hints.changed());
            hint.await.is_ok()
        })
        .await;
        let listener = store.health().await.unwrap().listener;
        assert!(listener.is_some_and(|listener| listener.lost_since.is_none()));
        other.close().await;
        store.close().await;
        drop(database);
    });
}
