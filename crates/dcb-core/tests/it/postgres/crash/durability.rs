//! Health reports whether the server flushes commits.

use dcb_core::{EventStore as _, Health};
use local_postgres::LocalPostgres;

use crate::support::postgres::{connect, durable_server, log_on, server};

async fn health_on(server: &LocalPostgres) -> Health {
    let store = connect(&log_on(server.url())).await;
    let health = store.health().await.unwrap();
    assert_eq!(health.version.split(' ').next(), Some(server.version()));
    store.close().await;
    health
}

#[tokio::test(flavor = "multi_thread")]
async fn health_of_a_durable_server_is_durable() {
    let health = health_on(durable_server().await).await;
    let expected = ["fsync", "synchronous_commit", "full_page_writes"];
    assert_eq!(
        health.durability,
        expected.map(|name| (name, "on".to_owned()))
    );
    assert!(health.is_durable);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_of_a_relaxed_server_is_not_durable() {
    let health = health_on(server().await).await;
    assert!(!health.is_durable, "{health:?}");
}
