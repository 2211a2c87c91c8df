//! The connections that read from one server, and the retry after one of them is lost.
//!
//! Invariant: a connection is reused without a check only if its last statement has been answered
//! to the end. Otherwise the pool pings the connection before its next use, or closes it. Tested by
//! `abandoned.rs` of `postgres-store`, and for a connection that falls silent by `silence.rs`.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use postgres_store::{
    Bound, Failure, Lease, Limits, Pool, Process, Server, Task, deadline_after, failure,
};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, SqlStr};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::answer::Found;
use super::coalesce::{Run, Waiting};
use super::config::Config;
use super::counters::Counters;
use super::error::error;
use crate::extent::Span;
use crate::{Error, Extent, Position, Query, ReadOptions};

/// The maximum number of reads that share a statement. More gain little, and each read waits for the rows of
/// the others.
const MAX_SHARED_READS: usize = 16;

/// The readers of one server. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub(super) struct Readers {
    pool: Pool,
    counters: Arc<Counters>,
    read_timeout: Duration,
    /// The head seen last; 0 before the first.
    head: Arc<AtomicU64>,
    /// The statement that begins a transaction around each read. `None` without a pooler in
    /// transaction mode.
    begin: Option<SqlStr>,
    /// The maximum number of connections.
    connections: u32,
    /// Short reads that wait for a connection.
    pub(super) short_reads: Arc<Waiting<(Query, ReadOptions), Found>>,
    /// Short backward reads that wait for a connection. Only identical ones share a statement.
    pub(super) short_backward_reads: Arc<Waiting<(Query, ReadOptions), Found>>,
    /// Short counts that wait for a connection. Only identical ones share a statement.
    pub(super) short_counts: Arc<Waiting<(Query, Span), Extent>>,
}

impl Readers {
    /// Readers of a server. They connect on first use.
    pub(super) fn new(config: &Config, server: &Server, counters: Arc<Counters>) -> Self {
        let session = server.reader(config.read_timeout);
        let limits = Limits::new(config.read_connections, session.limit);
        Self {
            pool: Pool::metered(session.hosts, limits, counters.metrics.reads().clone()),
            counters,
            read_timeout: session.limit,
            head: Arc::default(),
            begin: session.begin,
            connections: limits.connections,
            short_reads: Waiting::new(MAX_SHARED_READS),
            short_backward_reads: Waiting::new(1),
            short_counts: Waiting::new(1),
        }
    }

    /// The head seen last. A hint: the log may have grown since, or been cleared.
    pub(super) fn last_head(&self) -> Option<Position> {
        Position::new(self.head.load(Ordering::Relaxed))
    }

    pub(super) fn observe_head(&self, head: Option<Position>) {
        let head = Position::number_or_zero(head);
        // Not `fetch_max`: after `clear` the head is lower than before.
        self.head.store(head, Ordering::Relaxed);
    }

    /// Takes other connections for the next reads. These may lead to a server that lost the lead in a
    /// failover, and lacks what was read from the next leader.
    pub(super) fn doubt(&self) {
        self.pool.doubt();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Whether each statement needs a transaction, so that its rows must be fetched at once.
    pub(super) fn are_pooled(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether no connection is idle at this moment.
    pub(super) fn are_busy(&self) -> bool {
        !self.pool.has_resting()
    }

    /// Waits for a connection together with other requests, of which `work` answers several on one
    /// connection. Returns `None` if it has no answer to this request; the caller then reads alone
    /// and gets its own error.
    ///
    /// # Errors
    /// A timeout if the caller has waited for its whole query timeout.
    pub(super) async fn coalesce<K, A, F>(
        &self,
        waiting: &Arc<Waiting<K, A>>,
        request: K,
        work: impl FnOnce(Self, Lease, Vec<Arc<K>>) -> F + Send + 'static,
    ) -> Result<Option<A>, Error>
    where
        K: Eq + Hash + Send + Sync + 'static,
        A: Clone + Send + Sync + 'static,
        F: Future<Output = Vec<Option<A>>> + Send + 'static,
    {
        let begun = std::time::Instant::now();
        let deadline = deadline_after(self.read_timeout);
        // While the pool can open connections, requests spread over more of them.
        let unopened = self.connections.saturating_sub(self.pool.size());
        let (answer, run) = waiting.join(request, unopened as usize);
        if let Some(run) = run {
            let run = self.clone().run(run, work);
            tokio::spawn(run.in_current_span());
        }
        match timeout_at(deadline, answer.wait()).await {
            Ok(Some(answer)) => Ok(Some(answer)),
            _ if Instant::now() < deadline => Ok(None),
            _ => Err(self.error(&self.pool.timed_out(begun))),
        }
    }

    /// Acquires a connection for the run, and answers the requests that wait by then.
    async fn run<K, A, F>(self, run: Run<K, A>, work: impl FnOnce(Self, Lease, Vec<Arc<K>>) -> F)
    where
        K: Eq + Hash,
        F: Future<Output = Vec<Option<A>>>,
    {
        loop {
            let begun = Instant::now();
            match self.acquire().await {
                Ok(connection) if run.is_awaited() => {
                    let work = |requests| work(self, connection, requests);
                    return run.answer(work).await;
                }
                // Other runs have taken all requests.
                Ok(connection) => return connection.give_back(),
                // The wait is over, and the callers that joined later have time left.
                Err(_) if begun.elapsed() >= self.read_timeout && run.is_awaited() => {}
                Err(_) => return,
            }
        }
    }

    /// Fetches all rows of a statement.
    pub(super) async fn rows(
        &self,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<PgRow>, Error> {
        self.fold(statement, Vec::new, |rows, row| {
            rows.push(row);
            Ok(())
        })
        .await
    }

    /// Folds the rows of a statement as they arrive, within the time limit of a read. If the connection turns out to be dead or its
    /// session spoiled, the call sends the statement once more, on another connection.
    pub(super) async fn fold<T: Send + 'static>(
        &self,
        statement: impl Fn() -> Bound<'static>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, PgRow) -> Result<(), Error> + Clone + Send + 'static,
    ) -> Result<T, Error> {
        let begun = std::time::Instant::now();
        let folding = self.fold_twice(statement, start, take);
        let folded = timeout_at(self.deadline(), folding).await;
        let folded = folded.unwrap_or_else(|_| Err(self.pool.timed_out(begun)));
        folded.map_err(|failed| self.error(&failed))?
    }

    async fn fold_twice<T: Send + 'static>(
        &self,
        statement: impl Fn() -> Bound<'static>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, PgRow) -> Result<(), Error> + Clone + Send + 'static,
    ) -> Result<Result<T, Error>, sqlx::Error> {
        match self.fold_once(statement(), start(), take.clone()).await {
            Err(failed) if failure(&failed).ends_session() && !self.pool.is_closed() => {
                // A restarted server has ended all of its connections, not just this one.
                self.learn(failure(&failed));
                self.fold_once(statement(), start(), take).await
            }
            answer => answer,
        }
    }

    /// Folds the rows of a statement in a task. Otherwise a caller that is not polled would keep a
    /// connection, or a place in the queue for one, that other reads need.
    async fn fold_once<T: Send + 'static>(
        &self,
        statement: Bound<'static>,
        mut folded: T,
        take: impl Fn(&mut T, PgRow) -> Result<(), Error> + Send + 'static,
    ) -> Result<Result<T, Error>, sqlx::Error> {
        let readers = self.clone();
        let folding = Task::start(async move {
            let taken = readers.try_fold(statement, &mut folded, take).await?;
            Ok(taken.map(|()| folded))
        });
        let folded = folding.join().await;
        folded.unwrap_or(Err(sqlx::Error::PoolClosed))
    }

    /// Folds the rows of a statement on this connection, without a retry. `None` if the statement
    /// fails, or once `take` returns `None`.
    pub(super) async fn try_fold_on<T>(
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

    /// Fetches all rows of a statement, without a retry.
    pub(super) async fn try_rows(&self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut rows = Vec::new();
        let keep = |rows: &mut Vec<PgRow>, row| {
            rows.push(row);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = self.try_fold(statement, &mut rows, keep).await?;
        Ok(rows)
    }

    async fn try_fold<T, E>(
        &self,
        statement: Bound<'_>,
        folded: &mut T,
        take: impl Fn(&mut T, PgRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, sqlx::Error> {
        let connection = self.acquire().await?;
        self.fold_on(connection, statement, folded, take).await
    }

    /// Folds the rows of a statement on this connection as they arrive, then returns the connection
    /// to the pool.
    async fn fold_on<T, E>(
        &self,
        mut connection: Lease,
        statement: Bound<'_>,
        folded: &mut T,
        take: impl Fn(&mut T, PgRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, sqlx::Error> {
        // A pooler gives each transaction another process.
        let process = self.begin.is_none().then(|| connection.process());
        let folding = async {
            match &self.begin {
                None => fold_rows(&mut connection, statement, folded, take).await,
                Some(begin) => {
                    connection.close_on_drop();
                    let mut transaction = connection.begin_with(begin.clone()).await?;
                    let statement = statement.persistent(false);
                    let done = fold_rows(&mut transaction, statement, folded, take).await;
                    // Reads have nothing to commit, and a rollback ends a failed transaction too.
                    transaction.rollback().await?;
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

    /// The answer of a server process, if it is known, or an error if it takes too long or is lost.
    pub(super) async fn in_time<T>(
        &self,
        process: Option<Process>,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        self.pool.in_time(self.read_timeout, process, answer).await
    }

    /// Borrows a connection for one statement.
    pub(super) async fn acquire(&self) -> Result<Lease, sqlx::Error> {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        self.pool.acquire().await
    }

    /// The time at which a read that starts now times out.
    fn deadline(&self) -> Instant {
        deadline_after(self.read_timeout)
    }

    /// Replaces or checks the other open connections if this failure may affect them too.
    pub(super) fn learn(&self, failure: Failure) {
        self.pool.learn(failure);
    }

    /// The connections.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) fn size(&self) -> u32 {
        self.pool.size()
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    /// Translates the error of a failed read.
    pub(super) fn error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            sqlx::Error::PoolTimedOut => self.timeout(),
            _ if failure(failed) == Failure::Cancelled => self.timeout(),
            _ => error(failed),
        }
    }

    /// Why no connection could be opened to the server since this time, if that is what a caller
    /// waits for.
    pub(super) fn outage(&self, since: std::time::Instant) -> Option<Error> {
        match self.pool.timed_out(since) {
            sqlx::Error::PoolTimedOut => None,
            outage => Some(error(&outage)),
        }
    }

    /// The error of a call that began at `since` and has no more time.
    pub(super) fn late(
        &self,
        since: std::time::Instant,
        operation: &'static str,
        limit: Duration,
    ) -> Error {
        let outage = self.outage(since);
        outage.unwrap_or(Error::Timeout { operation, limit })
    }

    fn timeout(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.read_timeout,
        }
    }
}

async fn fold_rows<T, E>(
    connection: &mut PgConnection,
    statement: Bound<'_>,
    folded: &mut T,
    take: impl Fn(&mut T, PgRow) -> Result<(), E>,
) -> Result<Result<(), E>, sqlx::Error> {
    let mut rows = statement.fetch(connection);
    while let Some(row) = rows.try_next().await? {
        if let Err(error) = take(folded, row) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}
