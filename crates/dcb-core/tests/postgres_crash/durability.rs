//! What the server's settings say of a commit.

use local_postgres::Durability;

use crate::support::{connect, log_on, server_of_its_own};

async fn health_on(durability: Durability) -> dcb_core::postgres::Health {
    let server = server_of_its_own(durability, &[]).await;
    let store = connect(&log_on(server.url())).await;
    let health = store.health().await.unwrap();
    assert_eq!(
        health.server_version.split(' ').next(),
        Some(server.version())
    );
    store.close().await;
    health
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_of_a_durable_server_flushes_each_commit() {
    let health = health_on(Durability::Durable).await;
    let expected = ["fsync", "synchronous_commit", "full_page_writes"];
    assert_eq!(
        health.durability,
        expected.map(|name| (name, "on".to_owned()))
    );
    assert!(health.is_durable());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relaxed_server_is_told() {
    let health = health_on(Durability::Relaxed).await;
    assert!(!health.is_durable(), "{health:?}");
}
