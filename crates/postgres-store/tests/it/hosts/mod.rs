//! URLs with several hosts.

mod failover;
mod search;
mod urls;

use std::net::TcpListener;

use local_postgres::{Durability, LocalPostgres, Options};

/// A host that refuses connections.
fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Host and port of a URL.
fn host(url: &str) -> &str {
    let (_, rest) = url.split_once('@').expect("a user");
    rest.split_once('/').expect("a database").0
}

/// A URL of a database on these hosts.
fn url(hosts: &[&str], rest: &str) -> String {
    format!("postgres://postgres:secret@{}/{rest}", hosts.join(","))
}

/// A server and its standby. `None` without `pg_basebackup`.
async fn pair() -> Option<(LocalPostgres, LocalPostgres)> {
    let options = Options {
        durability: Durability::Relaxed,
        settings: vec![("synchronous_commit".to_owned(), "on".to_owned())],
        ..Options::default()
    };
    let primary = LocalPostgres::start(options).await.expect("a PostgreSQL");
    let standby = primary.start_standby().await.expect("a standby");
    Some((primary, unmet::need("pg_basebackup", standby)?))
}
