//! The connections for reads, shared by the stores of a database.

use std::pin::Pin;
use std::time::Duration;

use postgres_store::{
    Bound, Failure, Lease, Limits, Process, Replicas, Server, Task, deadline_after, execute,
    failure, rows,
};
use sqlx::SqlStr;
use sqlx::postgres::PgRow;
use tokio::time::{Instant, timeout_at};

use super::config::Config;
use super::error::error;
use super::replica;
use crate::{Error, Metrics};

/// Connections to the primary and to its replicas.
pub(super) struct Pools {
    /// The server of the primary. Its sessions share what they learn about outages.
    pub(super) server: Server,
    pub(super) primary: Pool,
    pub(super) replicas: Replicas<Pool>,
    pub(super) metrics: Metrics,
}

impl Pools {
    /// Connects to the replicas, and to the primary on first use.
    pub(super) async fn new(config: &Config, metrics: Metrics) -> Result<Self, Error> {
        let primary = config.primary::<Error>()?;
        let replicas = config.replicas::<Error>()?;
        let of_replica = |replica: &Server| {
            let pool = Pool::new(config, replica, &metrics);
            (replica.hosts().clone(), pool.pool.clone(), pool)
        };
        let replicas = replicas.iter().map(of_replica).collect();
        let watching = replica::watching(config, primary.hosts().clone());
        Ok(Self {
            primary: Pool::new(config, &primary, &metrics),
            server: primary,
            metrics,
            replicas: Replicas::watch(replicas, watching).await,
        })
    }

    pub(super) async fn close(&self) {
        self.primary.close().await;
        for replica in self.replicas.each() {
            replica.readers().close().await;
        }
    }
}

/// Connections to one server. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub(super) struct Pool {
    pool: postgres_store::Pool,
    /// Begins a transaction around each statement. `None` without a pooler in transaction mode.
    begin: Option<SqlStr>,
    timeout: Duration,
}

impl Pool {
    fn new(config: &Config, server: &Server, metrics: &Metrics) -> Self {
        let session = server.reader(config.read_timeout);
        let limits = Limits::new(config.read_connections, session.limit);
        Self {
            pool: postgres_store::Pool::metered(session.hosts, limits, metrics.reads().clone()),
            begin: session.begin,
            timeout: session.limit,
        }
    }

    /// Takes other connections for the next reads. These may lead to a server that lost the lead in a
    /// failover, and lacks what was read from the next leader.
    pub(super) fn doubt(&self) {
        self.pool.doubt();
    }

    /// Runs a statement and returns all rows. Retries once if the connection was dead or its session
    /// spoiled, so the statement must be safe to run twice.
    pub(super) async fn rows(
        &self,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<PgRow>, Error> {
        let begun = std::time::Instant::now();
        let deadline = deadline_after(self.timeout);
        let rows = timeout_at(deadline, self.rows_twice(statement)).await;
        let rows = rows.unwrap_or_else(|_| Err(self.pool.timed_out(begun)));
        rows.map_err(|failed| self.error(&failed))
    }

    async fn rows_twice(
        &self,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        match self.rows_once(statement()).await {
            Err(failed) if failure(&failed).ends_session() && !self.pool.is_closed() => {
                // If the server has restarted, all idle connections are dead. The pool tests each
                // one before its next use.
                self.pool.learn(failure(&failed));
                self.rows_once(statement()).await
            }
            rows => rows,
        }
    }

    /// Runs a statement in a task. Otherwise a caller that is not polled would keep a connection,
    /// or a place in the queue for one, that others need.
    async fn rows_once(&self, statement: Bound<'static>) -> Result<Vec<PgRow>, sqlx::Error> {
        let pool = self.clone();
        let rows = Task::start(async move { pool.try_rows(statement).await });
        rows.join().await.unwrap_or(Err(sqlx::Error::PoolClosed))
    }

    /// Runs a statement and returns the number of changed rows. Never retries: after a lost
    /// connection, the statement may or may not have run.
    pub(super) async fn execute(&self, statement: Bound<'static>) -> Result<u64, Error> {
        let pool = self.clone();
        let deadline = deadline_after(self.timeout);
        let executing = Task::start(async move {
            let mut connection = pool.acquire().await?;
            let left = deadline.saturating_duration_since(Instant::now());
            let process = pool.process(&connection);
            let changing = execute(&mut connection, pool.begin.as_ref(), statement);
            let changed = pool.pool.in_time(left, process, changing).await?;
            connection.give_back();
            Ok(changed)
        });
        let done = executing.join().await;
        let done = done.unwrap_or(Err(sqlx::Error::PoolClosed));
        if let Err(failed) = &done {
            self.pool.learn(failure(failed));
        }
        done.map_err(|failed| self.error(&failed))
    }

    /// The server process behind a connection. A pooler gives each transaction another one.
    fn process(&self, connection: &Lease) -> Option<Process> {
        self.begin.is_none().then(|| connection.process())
    }

    async fn acquire(&self) -> Result<Lease, sqlx::Error> {
        let mut connection = self.pool.acquire().await?;
        if self.begin.is_some() {
            connection.close_on_drop();
        }
        Ok(connection)
    }

    async fn try_rows(&self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut connection = self.acquire().await?;
        let process = self.process(&connection);
        let answer = rows(&mut connection, self.begin.as_ref(), statement);
        match self.pool.in_time(self.timeout, process, answer).await {
            Ok(rows) => {
                connection.give_back();
                Ok(rows)
            }
            Err(failed) if failure(&failed).ends_session() => {
                // After a timeout the answer may still arrive, so no other statement can use the
                // connection.
                connection.discard();
                Err(failed)
            }
            Err(failed) => Err(failed),
        }
    }

    /// Converts the error of a failed statement.
    fn error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            sqlx::Error::PoolTimedOut => self.timeout_error(),
            _ if failure(failed) == Failure::Cancelled => self.timeout_error(),
            _ => error(failed),
        }
    }

    /// Runs a part of a call within the time limit of a read that began at `begun`. Each read has a
    /// limit, too: a call of several parts must not add these up. Takes the future by reference: by
    /// value, the caller's future would have its size several times.
    pub(super) async fn in_limit<T>(
        &self,
        begun: Instant,
        part: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, Error> {
        let in_time = timeout_at(begun + self.timeout, part).await;
        in_time.unwrap_or_else(|_| Err(self.late(begun.into_std(), "read", self.timeout)))
    }

    /// The error of a call that began at `since` and has no more time: why no connection could be
    /// opened in the meantime, if that is the reason.
    pub(super) fn late(
        &self,
        since: std::time::Instant,
        operation: &'static str,
        limit: Duration,
    ) -> Error {
        match self.pool.timed_out(since) {
            sqlx::Error::PoolTimedOut => Error::Timeout { operation, limit },
            outage => error(&outage),
        }
    }

    pub(super) fn timeout_error(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.timeout,
        }
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
