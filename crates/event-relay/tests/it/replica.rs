//! A replica of the messages lags.

use local_postgres::{Durability, LocalPostgres, Options, Source};
use message_store::AnyStore;
use message_store::MessageStore as _;
use message_store::postgres::{Config, PostgresStore};
use sqlx::Connection as _;

use crate::support::{append, check, drawn, numbers, positions, relayed, runner, wait_until};

async fn run(url: &str, sql: &'static str) {
    let session = sqlx::PgConnection::connect(url).await;
    let mut session = session.expect("the server answers");
    sqlx::raw_sql(sql)
        .execute(&mut session)
        .await
        .expect("the statement runs");
}

/// The replica lacks the last checkpoint, so a relay that believed it would write a second time.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_is_that_of_the_primary() {
    let primary = LocalPostgres::start(Options {
        source: Some(Source::Installed),
        durability: Durability::Relaxed,
        ..Options::default()
    });
    let primary = primary.await.ok();
    let standby = match &primary {
        Some(primary) => primary.start_standby().await.expect("a standby"),
        None => None,
    };
    let (Some(primary), Some(standby)) = (primary, unmet::need("pg_basebackup", standby)) else {
        return;
    };
    let (events, _) = crate::support::in_memory().await;
    append(&events, (0..4).map(drawn).collect()).await;
    let direct = PostgresStore::connect(Config::new(primary.url())).await;
    let direct = AnyStore::Postgres(direct.expect("a store"));
    runner(&events, &direct)
        .catch_up()
        .await
        .expect("it catches up");

    let config = Config::new(primary.url()).replica_url(standby.url());
    let store = PostgresStore::connect(config).await.expect("a store");
    wait_until("the replica is used", async || store.replicas_in_use() == 1).await;
    let lagging = AnyStore::Postgres(store);
    wait_until("the replica has the messages", async || {
        relayed(&lagging).await.len() == 4
    })
    .await;
    run(standby.url(), "SELECT pg_wal_replay_pause()").await;
    append(&events, (0..4).map(drawn).collect()).await;
    runner(&events, &direct)
        .catch_up()
        .await
        .expect("it catches up");
    append(&events, (0..2).map(drawn).collect()).await;
    assert_eq!(
        numbers(&relayed(&lagging).await),
        [1, 2, 3, 4],
        "the replica lags"
    );

    runner(&events, &lagging)
        .catch_up()
        .await
        .expect("it catches up");
    assert_eq!(numbers(&relayed(&direct).await), positions(&events).await);
    check(&events, &direct).await;
    direct.close().await;
    run(standby.url(), "SELECT pg_wal_replay_resume()").await;
}
