//! The connections for reads, shared by the stores of a database.

use std::time::Duration;

use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use tokio::time::timeout;

use super::config::Config;
use super::error::{Failure, error, failure};
use super::session;
use crate::Error;

/// A statement with bound values.
pub(super) type Bound<'q> = Query<'q, Postgres, PgArguments>;

/// Connections to the primary and to its replica, if there is one.
pub(super) struct Pools {
    pub(super) primary: Pool,
    pub(super) replica: Option<Pool>,
}

impl Pools {
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        let replica = config.replica_url.as_deref();
        let replica = replica.map(|url| Pool::new(config, (url, "replica_url")));
        Ok(Self {
            primary: Pool::new(config, (&config.url, "url"))?,
            replica: replica.transpose()?,
        })
    }

    /// The pool for reads of streams and categories.
    pub(super) fn for_reads(&self) -> &Pool {
        self.replica.as_ref().unwrap_or(&self.primary)
    }

    pub(super) async fn close(&self) {
        self.primary.close().await;
        if let Some(replica) = &self.replica {
            replica.close().await;
        }
    }
}

/// Connections to one server.
pub(super) struct Pool {
    pool: postgres_pool::Pool,
    timeout: Duration,
}

impl Pool {
    fn new(config: &Config, url: (&str, &'static str)) -> Result<Self, Error> {
        Ok(Self {
            pool: session::readers(config, url)?,
            timeout: config.read_timeout,
        })
    }

    /// Runs a statement and returns all rows. Retries once if the connection was dead, so the
    /// statement must be safe to run twice.
    pub(super) async fn rows<'q>(
        &self,
        statement: impl Fn() -> Bound<'q>,
    ) -> Result<Vec<PgRow>, Error> {
        let rows = match self.try_rows(statement()).await {
            Err(failed) if failure(&failed) == Failure::Lost && !self.pool.is_closed() => {
                // If the server has restarted, all idle connections are dead. The pool tests each
                // one before its next use.
                self.pool.suspect();
                self.try_rows(statement()).await
            }
            rows => rows,
        };
        rows.map_err(|failed| self.error(&failed))
    }

    /// Runs a statement and returns the number of changed rows. Never retries: after a lost
    /// connection, the statement may or may not have run.
    pub(super) async fn execute(&self, statement: Bound<'_>) -> Result<u64, Error> {
        let execute = async {
            let mut connection = self.pool.acquire().await?;
            let done = statement.execute(&mut *connection).await?;
            connection.give_back();
            Ok(done.rows_affected())
        };
        let done = execute.await;
        if matches!(&done, Err(failed) if failure(failed) == Failure::Lost) {
            self.pool.suspect();
        }
        done.map_err(|failed| self.error(&failed))
    }

    async fn try_rows(&self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        // The server's own time limit expires first. The margin leaves time for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        let mut connection = self.pool.acquire().await?;
        let limit = self.timeout + MARGIN;
        let Ok(rows) = timeout(limit, statement.fetch_all(&mut *connection)).await else {
            // The answer may still arrive, so the connection can't be reused.
            connection.discard();
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        };
        let rows = rows?;
        connection.give_back();
        Ok(rows)
    }

    /// Converts the error of a failed statement.
    fn error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            // The pool retries a server that rejects connections until the time limit. If the pool
            // has no connection at all, the cause is the server and not the load.
            sqlx::Error::PoolTimedOut if self.pool.size() == 0 => error(failed),
            sqlx::Error::PoolTimedOut => self.timeout_error(),
            _ if failure(failed) == Failure::Cancelled => self.timeout_error(),
            _ => error(failed),
        }
    }

    pub(super) fn timeout_error(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.timeout,
        }
    }

    pub(super) fn time_limit(&self) -> Duration {
        self.timeout
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
