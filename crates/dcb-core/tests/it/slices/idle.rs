//! The cost of slices without events.

use std::time::Duration;

use dcb_core::EventStore as _;
use tokio::time::sleep;

use super::ground::{Ground as _, options};
use super::postgres::Postgres;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{log_on, private_server};
use crate::support::wait::wait_until;
use local_postgres::Durability;

/// The statements that the server has run since the last call.
async fn transactions(sql: &mut Sql) -> i64 {
    sql.run("SELECT pg_stat_clear_snapshot()").await;
    sql.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        .await
}

/// An idle member beats and looks at the log, however many slices it holds.
#[tokio::test(flavor = "multi_thread")]
async fn idle_slices_cost_no_transactions_of_their_own() {
    const SECONDS: i64 = 4;
    let server = private_server(Durability::Relaxed, &[("autovacuum", "off")]).await;
    let ground = Postgres::on(log_on(server.url())).await;
    ground.append(1_000, 1_000).await;
    let mut member = ground.runner(1).options(options().slices(256));
    let progress = member.progress();
    let running = tokio::spawn(async move { member.run().await });
    wait_until("the member has caught up", async || {
        progress.head().is_some() && progress.lag() == 0
    })
    .await;
    // The checkpoints of slices without events move once.
    sleep(Duration::from_secs(3)).await;
    let mut sql = Sql::connect(&ground.log.url).await;
    let before = transactions(&mut sql).await;
    sleep(Duration::from_secs(SECONDS as u64)).await;
    let cost = transactions(&mut sql).await - before;
    // 4 beats, 5 looks, and the server's own work in a second; at most three times as many.
    assert!(cost < 27 * SECONDS, "{cost} transactions in {SECONDS} s");
    let listeners = sql
        .number("SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'")
        .await;
    assert!(listeners <= 1, "{listeners} listeners");
    running.abort();
    sql.close().await;
    ground.store().close().await;
}
