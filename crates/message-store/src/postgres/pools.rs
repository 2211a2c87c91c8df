//! The connections beside the writer's, shared by the stores of a database.

use std::time::Duration;

use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use tokio::time::timeout;

use super::config::Config;
use super::error::{Failure, error, failure};
use super::session;
use crate::Error;

/// A statement with its values.
pub(super) type Bound<'q> = Query<'q, Postgres, PgArguments>;

/// The connections to the database, and to its replica where there is one.
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

    /// Where streams and categories are read.
    pub(super) fn reads(&self) -> &Pool {
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

    /// All rows of a statement. A connection that turns out to be dead costs one more try, so the
    /// statement is one that may be run twice.
    pub(super) async fn rows<'q>(
        &self,
        statement: impl Fn() -> Bound<'q>,
    ) -> Result<Vec<PgRow>, Error> {
        let rows = match self.try_rows(statement()).await {
            Err(failed) if failure(&failed) == Failure::Lost && !self.pool.is_closed() => {
                self.pool.suspect();
                self.try_rows(statement()).await
            }
            rows => rows,
        };
        rows.map_err(|failed| self.error(&failed))
    }

    /// How many rows a statement changed. Sent once: where its connection is lost, it may have
    /// been run or not.
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
        // The server gives up first; the margin is for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        let mut connection = self.pool.acquire().await?;
        let limit = self.timeout + MARGIN;
        let Ok(rows) = timeout(limit, statement.fetch_all(&mut *connection)).await else {
            // The answer may still come: nobody else can use this connection.
            connection.discard();
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        };
        let rows = rows?;
        connection.give_back();
        Ok(rows)
    }

    /// A failed read in the store's words.
    fn error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            // The pool retries a server that refuses connections until the time is over.
            sqlx::Error::PoolTimedOut if self.pool.size() == 0 => error(failed),
            sqlx::Error::PoolTimedOut => self.timeout(),
            _ if failure(failed) == Failure::Cancelled => self.timeout(),
            _ => error(failed),
        }
    }

    pub(super) fn timeout(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.timeout,
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.timeout
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
