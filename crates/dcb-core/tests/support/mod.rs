//! Logs in a real PostgreSQL for tests.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod events;
pub(crate) mod pgbouncer;
pub(crate) mod proxy;
pub(crate) mod sql;
pub(crate) mod tasks;
pub(crate) mod wait;
pub(crate) mod workers;

use std::sync::atomic::{AtomicU32, Ordering};

use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::{Durability, LocalPostgres, Options, Source};

/// What the tests that other backends share call a store and the way to its log.
pub(crate) type Store = PostgresStore;
pub(crate) type Log = Config;

/// Where a log is, in words for another process: URL and schema.
pub(crate) type Address = [String; 2];

pub(crate) fn address(log: &Log) -> Address {
    [log.url.clone(), log.schema.clone()]
}

pub(crate) fn log_at([url, schema]: Address) -> Log {
    Config::new(url).schema(schema)
}

/// This process's server for tests of correctness.
pub(crate) async fn server() -> &'static LocalPostgres {
    local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("a PostgreSQL")
}

/// A server that the test may kill, or whose counters nobody else moves.
pub(crate) async fn server_of_its_own(
    durability: Durability,
    settings: &[(&str, &str)],
) -> LocalPostgres {
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut options = Options {
        source: Some(Source::Installed),
        durability,
        settings: settings.collect(),
    };
    if let Ok(server) = LocalPostgres::start(options.clone()).await {
        return server;
    }
    options.source = Some(Source::Download);
    LocalPostgres::start(options).await.expect("a PostgreSQL")
}

/// How to connect to a log of its own on this server.
pub(crate) fn log_on(url: &str) -> Config {
    static LOGS: AtomicU32 = AtomicU32::new(0);
    let number = LOGS.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    Config::new(url).schema(format!("log_{process}_{number}"))
}

/// How to connect to a log of its own, on this process's server for tests of correctness.
pub(crate) async fn fresh_log() -> Config {
    log_on(server().await.url())
}

/// A store over this log.
pub(crate) async fn connect(log: &Config) -> PostgresStore {
    PostgresStore::connect(log.clone())
        .await
        .expect("a connection")
}

/// A store over a fresh, empty log.
pub(crate) async fn fresh_store() -> PostgresStore {
    connect(&fresh_log().await).await
}
