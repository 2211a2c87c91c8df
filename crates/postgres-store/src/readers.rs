//! The connections that read from one server, and the retry after one of them is lost.
//!
//! Invariant: a connection is reused without a check only if its last statement has been answered
//! to the end. Otherwise the pool pings the connection before its next use, or closes it. Tested by
//! `abandoned.rs`, and for a connection that falls silent by `tests/suite/silence.rs`.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use group_commit::SubmitError;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, Error, SqlStr};
use store_fault::Fault;
use store_meter::PoolMeter;

use crate::config::ServerConfig;
use crate::failure::{Failure, failure, fault};
use crate::pool::{Lease, Limits, Pool, Process};
use crate::server::Server;
use crate::statement::{Bound, deadline_after, execute};
use crate::store_error::StoreError;
use crate::task::Task;

/// The readers of one server, for a store with the error `E`. They connect on first use. Cheap to
/// clone; clones share the connections.
#[derive(Clone)]
pub struct Readers<E> {
    pool: Pool,
    /// The statement that begins a transaction around each statement. `None` without a pooler in
    /// transaction mode.
    begin: Option<SqlStr>,
    limit: Duration,
    /// The maximum number of connections.
    connections: u32,
    /// Whether statements wait for no others, except those of other [spare](Self::spare) readers.
    are_spare: bool,
    /// The number of statements so far.
    statements: Arc<AtomicU64>,
    error: PhantomData<fn() -> E>,
}

impl<E: StoreError> Readers<E> {
    pub(crate) fn new(config: &ServerConfig, server: &Server, meter: PoolMeter) -> Self {
        let session = server.reader(config.read_timeout);
        let limits = Limits::new(config.read_connections, session.limit);
        Self {
            pool: Pool::metered(session.hosts, limits, meter),
            begin: session.begin,
            limit: session.limit,
            connections: limits.connections,
            are_spare: false,
            statements: Arc::default(),
            error: PhantomData,
        }
    }

    /// These readers, for statements that don't wait behind others for a connection: if all are lent, one
    /// more is opened. Such statements wait for each other.
    #[must_use]
    pub fn spare(&self) -> Self {
        Self {
            are_spare: true,
            ..self.clone()
        }
    }

    /// Replaces each connection that is open now before its next statement.
    pub fn retire(&self) {
        self.pool.retire();
    }

    /// Fetches all rows of a statement. If the connection turns out to be dead or its session spoiled,
    /// the call sends the statement once more, on another connection. So the statement must be safe to
    /// run twice.
    ///
    /// # Errors
    /// As [`fold`](Self::fold).
    pub async fn rows(&self, statement: impl Fn() -> Bound<'static>) -> Result<Vec<PgRow>, E> {
        self.fold(statement, Vec::new, |rows, row| {
            rows.push(row);
            Ok(())
        })
        .await
    }

    /// Folds the rows of a statement as they arrive. As [`rows`](Self::rows), it may send the statement
    /// twice.
    ///
    /// # Errors
    /// That of `take`, which ends the fold; else the [error](Self::error) for the driver's.
    pub async fn fold<T: Send + 'static>(
        &self,
        statement: impl Fn() -> Bound<'static>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, PgRow) -> Result<(), E> + Clone + Send + 'static,
    ) -> Result<T, E> {
        let folded = match self.fold_in_task(statement(), start(), take.clone()).await {
            Err(failed) if failure(&failed).ends_session() && !self.is_closed() => {
                // A restarted server has ended all of its connections, not just this one.
                self.learn(failure(&failed));
                self.fold_in_task(statement(), start(), take).await
            }
            answer => answer,
        };
        folded.map_err(|failed| self.error(&failed))?
    }

    /// Folds the rows of a statement in a task. Otherwise a caller that is not polled would keep a
    /// connection, or a place in the queue for one, that other reads need.
    async fn fold_in_task<T: Send + 'static>(
        &self,
        statement: Bound<'static>,
        mut folded: T,
        take: impl Fn(&mut T, PgRow) -> Result<(), E> + Send + 'static,
    ) -> Result<Result<T, E>, Error> {
        let readers = self.clone();
        let folding = Task::start(async move {
            let connection = readers.acquire().await?;
            let taken = readers.fold_on(connection, statement, &mut folded, take);
            Ok(taken.await?.map(|()| folded))
        });
        folding.join().await.unwrap_or(Err(Error::PoolClosed))
    }

    /// Fetches all rows of a statement in the caller's task, without a retry.
    ///
    /// # Errors
    /// The driver's.
    pub async fn try_rows(&self, statement: Bound<'_>) -> Result<Vec<PgRow>, Error> {
        let mut rows = Vec::new();
        let keep = |rows: &mut Vec<PgRow>, row| {
            rows.push(row);
            Ok::<(), std::convert::Infallible>(())
        };
        let connection = self.acquire().await?;
        let Ok(()) = self.fold_on(connection, statement, &mut rows, keep).await?;
        Ok(rows)
    }

    /// Folds the rows of a statement on this connection, without a retry. `None` if the statement
    /// fails, or once `take` returns `None`.
    pub async fn try_fold_on<T>(
        &self,
        connection: Lease,
        statement: Bound<'_>,
        mut folded: T,
        take: impl Fn(&mut T, PgRow) -> Option<()>,
    ) -> Option<T> {
        let take = |folded: &mut T, row| take(folded, row).ok_or(());
        match self.fold_on(connection, statement, &mut folded, take).await {
            Ok(taken) => taken.ok().map(|()| folded),
            Err(failed) => {
                self.learn(failure(&failed));
                None
            }
        }
    }

    /// Folds the rows of a statement on this connection as they arrive, then returns the connection
    /// to the pool.
    async fn fold_on<T, F>(
        &self,
        mut connection: Lease,
        statement: Bound<'_>,
        folded: &mut T,
        take: impl Fn(&mut T, PgRow) -> Result<(), F>,
    ) -> Result<Result<(), F>, Error> {
        let process = self.process(&connection);
        let folding = async {
            match &self.begin {
                None => fold_rows(&mut connection, statement, folded, take).await,
                Some(begin) => {
                    connection.close_on_drop();
                    let mut transaction = connection.begin_with(begin.clone()).await?;
                    let statement = statement.persistent(false);
                    let done = fold_rows(&mut transaction, statement, folded, take).await;
                    // Ends the transaction after an error too. Otherwise the pooler would keep the
                    // server process for this client.
                    transaction.commit().await?;
                    done
                }
            }
        };
        match self.in_time(process, folding).await {
            Ok(Ok(())) => {
                connection.give_back();
                Ok(Ok(()))
            }
            Err(failed) if failure(&failed).ends_session() => {
                // After a timeout the answer may still arrive on this connection, so no other
                // statement can use the connection.
                connection.discard();
                Err(failed)
            }
            // The lease is dropped here. Rows may be left over, so the pool pings the connection
            // before its next use.
            done => done,
        }
    }

    /// Runs a statement in a task and returns the number of rows that it changed. Never retries: after
    /// a lost connection, the statement may or may not have run.
    ///
    /// # Errors
    /// The [error](Self::error) for the driver's.
    pub async fn execute(&self, statement: Bound<'static>) -> Result<u64, E> {
        let readers = self.clone();
        let deadline = deadline_after(self.limit);
        let executing = Task::start(async move {
            let mut connection = readers.acquire().await?;
            if readers.are_pooled() {
                connection.close_on_drop();
            }
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            let process = readers.process(&connection);
            let changing = execute(&mut connection, readers.begin.as_ref(), statement);
            let changed = readers.pool.in_time(left, process, changing).await?;
            connection.give_back();
            Ok(changed)
        });
        let done = executing.join().await;
        done.unwrap_or(Err(Error::PoolClosed)).map_err(|failed| {
            self.learn(failure(&failed));
            self.error(&failed)
        })
    }

    /// Borrows a connection for one statement.
    ///
    /// # Errors
    /// Those of [`Pool::acquire`].
    pub async fn acquire(&self) -> Result<Lease, Error> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match self.are_spare {
            true => self.pool.acquire_spare().await,
            false => self.pool.acquire().await,
        }
    }

    /// The server process behind a connection. A pooler gives each transaction another one.
    fn process(&self, connection: &Lease) -> Option<Process> {
        self.begin.is_none().then(|| connection.process())
    }

    /// The answer of a server process, if it is known.
    ///
    /// # Errors
    /// The driver's; [`sqlx::Error::Io`] if the answer takes longer than a read may, or is lost.
    pub async fn in_time<T>(
        &self,
        process: Option<Process>,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.pool.in_time(self.limit, process, answer).await
    }

    /// Replaces or checks the other open connections if this failure may affect them too.
    pub fn learn(&self, failure: Failure) {
        self.pool.learn(failure);
    }

    /// Takes other connections for the next reads. These may lead to a server that lost the lead in a
    /// failover, and lacks what was read from the next leader.
    pub fn doubt(&self) {
        self.pool.doubt();
    }

    /// The store's error for a failed read.
    pub fn error(&self, failed: &Error) -> E {
        match failed {
            Error::PoolClosed => Fault::Closed.into(),
            Error::PoolTimedOut => self.timed_out(),
            _ if failure(failed) == Failure::Cancelled => self.timed_out(),
            _ => fault(failed).into(),
        }
    }

    fn timed_out(&self) -> E {
        let (operation, limit) = ("read", self.limit);
        Fault::TimedOut { operation, limit }.into()
    }

    /// Why no connection could be opened to the server since this time, if that is what a caller
    /// waits for.
    pub fn outage(&self, since: Instant) -> Option<E> {
        match self.pool.timed_out(since) {
            Error::PoolTimedOut => None,
            outage => Some(fault(&outage).into()),
        }
    }

    /// The error of a call that began at `since` and has no more time: the [outage](Self::outage) if
    /// there was one, else a timeout.
    pub fn late(&self, since: Instant, operation: &'static str, limit: Duration) -> E {
        let outage = self.outage(since);
        outage.unwrap_or_else(|| Fault::TimedOut { operation, limit }.into())
    }

    /// The error of a call that began at `since` and got no verdict from a queue. `unknown` is the store's
    /// error for an unknown outcome.
    pub fn without_verdict(
        &self,
        failed: SubmitError<E>,
        (since, operation, limit): (Instant, &'static str, Duration),
        unknown: impl FnOnce() -> E,
    ) -> E {
        match failed {
            SubmitError::Closed => Fault::Closed.into(),
            SubmitError::Refused(error) | SubmitError::Failed(error) => error,
            SubmitError::Panicked => Fault::Panicked.into(),
            SubmitError::OutcomeUnknown | SubmitError::Unknown(_) => unknown(),
            // The wait for space in the queue and the wait for the commit share one time limit.
            _ => self.late(since, operation, limit),
        }
    }

    /// The time limit of a read.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether each statement needs a transaction, so that its rows must be fetched at once.
    pub fn are_pooled(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether no connection is idle at this moment.
    pub fn are_busy(&self) -> bool {
        !self.pool.has_resting()
    }

    /// How many more connections the readers may open.
    pub fn unopened(&self) -> u32 {
        self.connections.saturating_sub(self.size())
    }

    /// The number of open connections.
    pub fn size(&self) -> u32 {
        self.pool.size()
    }

    /// The number of statements so far. A retry counts again.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Refuses new reads, waits for the running ones, and closes the connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}

async fn fold_rows<T, F>(
    connection: &mut PgConnection,
    statement: Bound<'_>,
    folded: &mut T,
    take: impl Fn(&mut T, PgRow) -> Result<(), F>,
) -> Result<Result<(), F>, Error> {
    let mut rows = statement.fetch(connection);
    while let Some(row) = poll_fn(|cx| rows.as_mut().poll_next(cx))
        .await
        .transpose()?
    {
        if let Err(error) = take(folded, row) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

impl<E> fmt::Debug for Readers<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}
