//! URLs with several hosts. Without `pg_basebackup`, the tests print a line and pass.

mod failover;
mod replicas;

use std::time::Duration;

use local_postgres::{Durability, LocalPostgres, Options};

use crate::support::postgres::separate_server;

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the tests read after a change.
const READING: Duration = Duration::from_secs(2);

/// A server and some standbys.
async fn cluster(standbys: usize) -> Option<(LocalPostgres, Vec<LocalPostgres>)> {
    let primary = separate_server(Options {
        durability: Durability::Durable,
        ..Options::default()
    })
    .await;
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
