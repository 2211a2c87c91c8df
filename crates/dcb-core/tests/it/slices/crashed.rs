//! What a crash of the server may take.

use conformance_suite::effort;
use dcb_core::EventStore as _;
use local_postgres::Durability;

use super::ground::{Ground as _, LIMIT};
use super::postgres::Postgres;
use crate::support::postgres::{log_on, private_server};

/// Its state and its checkpoints could only be lost together, and the swap waits for the disk.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_version_that_is_built_commits_without_a_wait_for_the_disk() {
    const KEEP: &str = "ALTER TABLE @seen_2 \
        ADD COLUMN commits text DEFAULT current_setting('synchronous_commit')";
    const WITHOUT: &str = "SELECT count(*) FROM @seen_2 WHERE commits = 'off'";
    let server = private_server(Durability::Durable, &[]).await;
    let ground = Postgres::on(log_on(server.url())).await;
    ground.run(KEEP).await;
    ground.append(20, 200).await;
    ground.assert_complete(1).await;
    ground.assert_complete(2).await;
    assert_eq!(ground.number(WITHOUT).await, 200);
    ground.promote(2, LIMIT).await.unwrap();
    ground.append(20, 100).await;
    ground.assert_complete(2).await;
    assert_eq!(ground.number(WITHOUT).await, 200);
    ground.store().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn version_that_is_built_across_killed_servers_handles_each_event_once() {
    let server = private_server(Durability::Durable, &[]).await;
    let ground = Postgres::on(log_on(server.url())).await;
    ground.append(20, 200).await;
    ground.assert_complete(1).await;
    let mut member = ground.runner(2);
    let running = tokio::spawn(async move { member.run().await });
    for _ in 0..effort(2) {
        ground.append(20, 200).await;
        ground.assert_complete(1).await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    assert!(!running.is_finished());
    running.abort();
    ground.assert_complete(2).await;
    ground.store().close().await;
}
