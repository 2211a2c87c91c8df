//! SQL beside the stores.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tokio::time::{Instant, sleep, timeout};

/// Longer than any step takes. Only a failing test waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Runs statements on a new connection.
pub(crate) async fn run(url: &str, sql: &str) -> Result<(), sqlx::Error> {
    rows(url, sql).await.map(drop)
}

/// Runs a query on a new connection.
pub(crate) async fn rows(url: &str, sql: &str) -> Result<Vec<PgRow>, sqlx::Error> {
    let mut connection = connect(url).await?;
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    let rows = sql.fetch_all(&mut connection).await?;
    connection.close().await?;
    Ok(rows)
}

/// Connects to the only host of a URL, or to the first of several that takes writes.
async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    let mut answer = Err(sqlx::Error::PoolClosed);
    for url in each_host(url) {
        answer = PgConnection::connect(&url).await;
        if let Ok(connection) = &mut answer
            && takes_writes(connection).await
        {
            break;
        }
    }
    answer
}

async fn takes_writes(connection: &mut PgConnection) -> bool {
    let row = sqlx::raw_sql("SELECT NOT pg_is_in_recovery()");
    let row = row.fetch_one(connection).await;
    row.is_ok_and(|row| row.get(0))
}

fn each_host(url: &str) -> Vec<String> {
    let (user, rest) = url.split_once('@').expect("the URL has a user");
    let (hosts, database) = rest.split_once('/').expect("the URL has a database");
    let database = database.split('?').next().unwrap_or_default();
    let hosts = hosts.split(',');
    hosts
        .map(|host| format!("{user}@{host}/{database}"))
        .collect()
}

/// Waits until a query returns true. NULL is not yet true: a standby that has not reported has no position.
pub(crate) async fn wait_until(url: &str, sql: &str) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let answer = timeout(Duration::from_secs(1), rows(url, sql)).await;
        if let Ok(Ok(rows)) = answer
            && rows.first().and_then(|row| row.get(0)) == Some(true)
        {
            return;
        }
        assert!(Instant::now() < give_up, "never true: {sql}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the server commits writes. A standby refuses the statement, and the commit waits for a
/// synchronous standby.
pub(crate) async fn wait_until_it_takes_writes(url: &str) {
    wait_until(
        url,
        "SELECT pg_logical_emit_message(true, 'probe', '') IS NOT NULL",
    )
    .await;
}
