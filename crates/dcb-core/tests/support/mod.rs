//! Logs in a real PostgreSQL for tests.

use std::sync::atomic::{AtomicU32, Ordering};

use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::Durability;

/// How to connect to a log of its own, on this process's server for tests of correctness.
pub(crate) async fn fresh_log() -> Config {
    static LOGS: AtomicU32 = AtomicU32::new(0);
    let server = local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("a PostgreSQL");
    let number = LOGS.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    Config::new(server.url()).schema(format!("log_{process}_{number}"))
}

/// A store over a fresh, empty log.
pub(crate) async fn fresh_store() -> PostgresStore {
    PostgresStore::connect(fresh_log().await)
        .await
        .expect("a connection")
}
