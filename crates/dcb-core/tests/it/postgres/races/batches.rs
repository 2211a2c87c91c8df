//! Requests that share a commit.

use dcb_core::EventStore as _;
use dcb_core::postgres::PostgresStore;
use local_postgres::Durability;

use crate::backends::batches::log_with_long_timeout;
use crate::support::events::{tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server};
use crate::support::wait::wait_until;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_share_commits() {
    let log = log_with_long_timeout::<PostgresStore>().await;
    let store = connect(&log).await;
    let tasks: Vec<_> = (0..2000)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.append(tagged("a")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.appends, stats.events), (2000, 2000));
    assert!(stats.commits < 500, "{stats:?}");
    store.close().await;
}

/// The number of transactions that a store takes for `appends` lone appends, including its start and
/// close.
async fn transactions(url: &str, appends: usize) -> i64 {
    let mut sql = Sql::connect(url).await;
    let name = format!("after_{appends}_appends");
    sql.run(&format!("CREATE DATABASE {name}")).await;
    let (server, _) = url.rsplit_once('/').expect("the URL has a database");
    let store = connect(&log_on(&format!("{server}/{name}"))).await;
    for number in 0..appends {
        let condition = unless("other");
        let answer = store
            .append_if(tagged(&format!("{number}")), condition)
            .await;
        answer.unwrap();
    }
    assert_eq!(store.stats().commits, appends as u64);
    store.close().await;
    let backends = format!("SELECT numbackends FROM pg_stat_database WHERE datname = '{name}'");
    // A session's counters are complete only after it has ended.
    wait_until("the store's sessions have ended", async || {
        sql.number(&backends).await == 0
    })
    .await;
    let counted = sql
        .number(&format!(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
        ))
        .await;
    sql.close().await;
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_append_takes_one_transaction() {
    let server = private_server(Durability::Relaxed, &[("autovacuum", "off")]).await;
    // Both runs are long enough to prepare every statement, including those of an uncontended writer.
    let few = transactions(server.url(), 40).await;
    let more = transactions(server.url(), 70).await;
    assert_eq!(more - few, 30);
}
