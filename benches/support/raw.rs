//! The driver without the store: connections, one to a worker, and their statements.

use bench::{BoxError, Call};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use std::str::FromStr as _;
use tokio::sync::{Mutex, MutexGuard};

/// The most connections of a floor: what a server with PostgreSQL's default of 100 leaves room
/// for, and where its rate of single commits is about highest.
pub(crate) const MOST_CONNECTIONS: usize = 50;

/// A connection of the kind that the store makes.
pub(crate) async fn connect(url: &str) -> Result<PgConnection, BoxError> {
    let options = PgConnectOptions::from_str(url)?.disable_statement_logging();
    Ok(PgConnection::connect_with(&options).await?)
}

/// Connections for the workers of an op; worker n uses the nth, beyond the last they share.
pub(crate) struct Connections {
    connections: Vec<Mutex<PgConnection>>,
}

impl Connections {
    /// Connects for `workers`, at most [`MOST_CONNECTIONS`] of them.
    pub(crate) async fn open(url: &str, workers: usize) -> Result<Self, BoxError> {
        let mut connections = Vec::new();
        for _ in 0..workers.min(MOST_CONNECTIONS) {
            connections.push(Mutex::new(connect(url).await?));
        }
        Ok(Self { connections })
    }

    /// The connection of the call's worker.
    pub(crate) async fn of(&self, call: Call) -> MutexGuard<'_, PgConnection> {
        self.any(call.worker).await
    }

    /// The `n`th connection.
    pub(crate) async fn any(&self, n: usize) -> MutexGuard<'_, PgConnection> {
        self.connections[n % self.connections.len()].lock().await
    }
}
