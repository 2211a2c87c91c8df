use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};
use store_meter::{PoolMeter, Share};
use tokio::time::timeout;

use crate::hosts::Found;
use crate::sign_of_life::OPENING;
use crate::statement::no_answer_within;

/// An open connection of a pool, with the times that the pool needs to judge it.
pub(super) struct Open {
    pub(super) connection: PgConnection,
    pub(super) opened: Instant,
    /// A time at which the connection was certainly alive.
    pub(super) seen_alive: Instant,
    pub(super) idle_since: Instant,
    /// The server process. Behind a pooler, that of the first transaction.
    pub(super) process: Process,
    _counted: Counted,
}

/// A server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub(super) id: i32,
    /// The index of its host.
    pub(super) host: usize,
}

impl Process {
    /// Its id at its host.
    pub fn id(self) -> i32 {
        self.id
    }
}

impl Open {
    pub(super) async fn new(
        found: Found,
        size: &Arc<AtomicU32>,
        meter: &PoolMeter,
    ) -> Result<Self, sqlx::Error> {
        let Found {
            mut connection,
            host,
        } = found;
        let counted = Counted::new(size, meter);
        // As one message, because a pooler may send two of them to different server processes.
        let process = sqlx::raw_sql("SELECT pg_backend_pid()");
        let asked = timeout(OPENING, process.fetch_one(&mut connection)).await;
        let id = asked
            .unwrap_or_else(|_| Err(no_answer_within(OPENING)))?
            .try_get(0)?;
        let now = Instant::now();
        Ok(Self {
            connection,
            process: Process { id, host },
            opened: now,
            seen_alive: now,
            idle_since: now,
            _counted: counted,
        })
    }

    /// Closes the connection with a message to the server. If the message does not arrive, the
    /// server ends the session when the socket closes.
    pub(super) async fn close(self) {
        let _ = self.connection.close().await;
    }
}

/// Adds one to the pool's number of open connections for as long as this value exists.
struct Counted {
    size: Arc<AtomicU32>,
    _metered: Share,
}

impl Counted {
    fn new(size: &Arc<AtomicU32>, meter: &PoolMeter) -> Self {
        size.fetch_add(1, Ordering::Relaxed);
        Self {
            size: Arc::clone(size),
            _metered: meter.opened(),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.size.fetch_sub(1, Ordering::Relaxed);
    }
}
