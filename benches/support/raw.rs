//! The driver without the store: one connection per worker.

use bench::{BoxError, Call};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use std::str::FromStr as _;
use tokio::sync::{Mutex, MutexGuard};

/// The session of a careful user of the driver: each statement is planned once and uses an index.
/// By default the planner may make a new plan for every call, which takes longer than the call
/// itself.
const SESSION: [(&str, &str); 6] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];

/// A connection with the server's default settings, for set-ups.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, BoxError> {
    Ok(PgConnection::connect_with(&options(url)?).await?)
}

fn options(url: &str) -> Result<PgConnectOptions, BoxError> {
    Ok(PgConnectOptions::from_str(url)?.disable_statement_logging())
}

/// The connections of a floor. Worker n uses connection n; further workers share them.
pub(crate) struct Connections {
    connections: Vec<Mutex<PgConnection>>,
}

impl Connections {
    /// Opens `count` connections.
    pub(crate) async fn open(url: &str, count: usize) -> Result<Self, BoxError> {
        let options = options(url)?.options(SESSION);
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Mutex::new(PgConnection::connect_with(&options).await?));
        }
        Ok(Self { connections })
    }

    /// The connection of the call's worker.
    pub(crate) async fn for_call(&self, call: Call) -> MutexGuard<'_, PgConnection> {
        self.nth(call.worker).await
    }

    /// The first connection, for statements of a set-up.
    pub(crate) async fn first(&self) -> MutexGuard<'_, PgConnection> {
        self.nth(0).await
    }

    async fn nth(&self, n: usize) -> MutexGuard<'_, PgConnection> {
        self.connections[n % self.connections.len()].lock().await
    }
}
