//! URLs with several hosts.

pub(crate) mod failover;
pub(crate) mod replicas;

use local_postgres::{Durability, LocalPostgres};

use crate::place::private_server;
use crate::sql::Sql;

/// A server and some standbys. `None` without `pg_basebackup`.
async fn cluster(standbys: usize) -> Option<(LocalPostgres, Vec<LocalPostgres>)> {
    let primary = private_server(Durability::Durable).await;
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

/// From now on, an acknowledged write is on the standby's disk.
async fn replicate_synchronously(primary: &LocalPostgres) {
    let mut sql = Sql::connect(primary.url()).await;
    sql.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        .await;
    sql.run("SELECT pg_reload_conf()").await;
}

async fn promote(standby: &LocalPostgres) {
    let mut sql = Sql::connect(standby.url()).await;
    sql.run("SELECT pg_promote()").await;
}
