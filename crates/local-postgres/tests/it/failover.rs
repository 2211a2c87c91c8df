//! Servers that are paused, shut down or cut off.

use std::time::Duration;

use local_postgres::{LocalPostgres, Options, Source, Wire};
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;

use crate::common::{ask, execute, is_running, pid_of, wait_until};

/// Longer than an answer takes, and short enough to wait for nothing.
const MOMENT: Duration = Duration::from_millis(300);

async fn start() -> LocalPostgres {
    let options = Options {
        source: Some(Source::Installed),
        ..Options::default()
    };
    let server = LocalPostgres::start(options).await;
    server.expect("PostgreSQL is installed")
}

async fn wire_of(server: &LocalPostgres) -> (Wire, String) {
    let (_, port) = server.url().rsplit_once(':').expect("a port");
    let (port, _) = port.split_once('/').expect("a database");
    let wire = Wire::start(port.parse().expect("a number")).await;
    let url = format!("postgres://postgres@{}/postgres", wire.address());
    (wire, url)
}

#[tokio::test]
async fn cut_wire_carries_everything_once_it_is_mended() {
    let server = start().await;
    let (wire, url) = wire_of(&server).await;
    assert_eq!(ask(&url, "SELECT 1").await, "1");
    wire.cut();
    let mut answer = Box::pin(ask(&url, "SELECT 2"));
    timeout(MOMENT, &mut answer).await.unwrap_err();
    wire.mend();
    assert_eq!(answer.await, "2");
}

#[tokio::test]
async fn wire_leads_new_connections_elsewhere() {
    let [one, other] = [start().await, start().await];
    let (wire, url) = wire_of(&one).await;
    let folder = "SHOW data_directory";
    assert_eq!(ask(&url, folder).await, ask(one.url(), folder).await);
    let port = ask(other.url(), "SHOW port").await;
    wire.lead_to(port.parse().expect("a number"));
    assert_eq!(ask(&url, folder).await, ask(other.url(), folder).await);
}

#[tokio::test]
async fn paused_server_answers_once_it_is_resumed() {
    let server = start().await;
    server.pause().unwrap();
    let mut answer = Box::pin(ask(server.url(), "SELECT 1"));
    timeout(MOMENT, &mut answer).await.unwrap_err();
    server.resume().unwrap();
    assert_eq!(answer.await, "1");
}

#[tokio::test]
async fn dropped_paused_server_ends() {
    let server = start().await;
    let pid = pid_of(server.url()).await;
    server.pause().unwrap();
    drop(server);
    wait_until("the server has ended", || !is_running(pid));
}

#[tokio::test]
async fn standby_has_everything_of_a_server_that_shut_down() {
    let server = start().await;
    let started = server.start_standby().await.expect("a standby");
    let Some(standby) = unmet::need("pg_basebackup", started) else {
        return;
    };
    execute(server.url(), "CREATE TABLE last ()").await;
    server.shut_down().await.unwrap();
    execute(standby.url(), "SELECT pg_promote()").await;
    assert_eq!(ask(standby.url(), "SELECT count(*) FROM last").await, "0");
}

/// A commit that waits for a standby stops waiting when the postmaster dies, and becomes visible. A
/// power cut kills all processes at once, so no client sees such a commit.
#[tokio::test(flavor = "multi_thread")]
async fn killed_server_shows_no_commit_that_waits_for_a_standby() {
    let server = start().await;
    let url = server.url();
    execute(url, "CREATE TABLE t ()").await;
    execute(url, "ALTER SYSTEM SET synchronous_standby_names = 'none'").await;
    execute(url, "SELECT pg_reload_conf()").await;
    let run = |sql: &'static str| {
        let url = url.to_owned();
        tokio::spawn(async move {
            let mut connection = PgConnection::connect(&url).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await
        })
    };
    let waiting: Vec<_> = (0..8)
        .map(|_| run("INSERT INTO t DEFAULT VALUES"))
        .collect();
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while ask(url, waits).await != "8" {}
    // Begun last, so it is the last that a killer of one process after the other would reach.
    let seen = run("DO $$ BEGIN LOOP EXIT WHEN EXISTS (SELECT FROM t); END LOOP; END $$");
    let looks =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'";
    while ask(url, looks).await != "1" {}

    server.kill_hard().unwrap();
    assert!(seen.await.unwrap().is_err(), "a commit became visible");
    for commit in waiting {
        assert!(commit.await.unwrap().is_err());
    }
}
