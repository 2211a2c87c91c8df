//! Logs on a PostgreSQL server.

pub(crate) mod last_append;
pub(crate) mod proxy;
pub(crate) mod sql;

use std::sync::atomic::{AtomicU32, Ordering};

use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::{Durability, LocalPostgres, Options, Source};

/// The server that all tests of this process share. It does not flush its commits.
pub(crate) async fn server() -> &'static LocalPostgres {
    local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("a PostgreSQL server starts")
}

/// The durable server that all tests of this process share.
pub(crate) async fn durable_server() -> &'static LocalPostgres {
    local_postgres::shared_with(Durability::Durable)
        .await
        .expect("a PostgreSQL server starts")
}

/// A server for one test, which may kill it or read its counters.
pub(crate) async fn private_server(
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
        ..Options::default()
    };
    if let Ok(server) = LocalPostgres::start(options.clone()).await {
        return server;
    }
    options.source = Some(Source::Download);
    LocalPostgres::start(options)
        .await
        .expect("a PostgreSQL server starts")
}

/// Settings for a new log on this server.
pub(crate) fn log_on(url: &str) -> Config {
    static LOGS: AtomicU32 = AtomicU32::new(0);
    let number = LOGS.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    Config::new(url).schema(format!("log_{process}_{number}"))
}

/// Settings for a new log on the shared server.
pub(crate) async fn fresh_log() -> Config {
    log_on(server().await.url())
}

/// Opens a store over this log.
pub(crate) async fn connect(log: &Config) -> PostgresStore {
    PostgresStore::connect(log.clone())
        .await
        .expect("the store connects")
}

/// A store over a new, empty log on the shared server.
pub(crate) async fn fresh_store() -> PostgresStore {
    connect(&fresh_log().await).await
}
