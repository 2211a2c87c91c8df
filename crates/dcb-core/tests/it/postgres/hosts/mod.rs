//! URLs with several hosts. Without `pg_basebackup`, the tests print a line and pass.

mod failover;
mod replicas;

use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use local_postgres::{Durability, LocalPostgres};
use tokio::time::{sleep, timeout};

use crate::support::postgres::private_server;

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the tests read after a change.
const READING: Duration = Duration::from_secs(2);

/// A server and some standbys.
async fn cluster(standbys: usize) -> Option<(LocalPostgres, Vec<LocalPostgres>)> {
    let primary = private_server(Durability::Durable, &[]).await;
    let mut started = Vec::new();
    for _ in 0..standbys {
        let standby = primary.start_standby().await.expect("a standby");
        started.push(unmet::need("pg_basebackup", standby)?);
    }
    Some((primary, started))
}

/// A URL with the hosts of these URLs.
fn url(urls: &[&str]) -> String {
    let host = |url: &&str| {
        let (_, rest) = url.split_once('@').expect("a user");
        rest.split_once('/').expect("a database").0.to_owned()
    };
    let hosts: Vec<String> = urls.iter().map(host).collect();
    format!(
        "postgres://postgres@{}/postgres?sslmode=disable",
        hosts.join(",")
    )
}

async fn wait_until_in_use(store: &PostgresStore, replicas: usize) {
    let waiting = async {
        while store.replicas_in_use() != replicas {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(TIMEOUT, waiting).await;
    assert!(waited.is_ok(), "{} in use", store.replicas_in_use());
}
