//! The connections that read one server, and what happens when one of them is lost.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use postgres_pool::{Lease, Pool};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query as Statement;
use sqlx::{Connection as _, Postgres, SqlStr};
use tokio::time::{Instant, timeout, timeout_at};

use super::config::Config;
use super::counters::Counters;
use super::error::{Failure, error, failure};
use super::session;
use super::short_read::{EventsOfEach, ExtentOfEach, ShortReads};
use crate::{Error, Position};

/// A statement with its values.
pub(super) type Bound<'q> = Statement<'q, Postgres, PgArguments>;

/// Cheap to clone; clones share the connections.
#[derive(Clone)]
pub(super) struct Readers {
    pool: Pool,
    counters: Arc<Counters>,
    query_timeout: Duration,
    /// The head that was seen last, 0 where none was.
    head: Arc<AtomicU64>,
    /// How each statement's transaction begins, where a session lasts no longer than one.
    begin: Option<SqlStr>,
    /// Those that find no connection free.
    short_reads: Arc<ShortReads<EventsOfEach>>,
    short_counts: Arc<ShortReads<ExtentOfEach>>,
}

impl Readers {
    /// Of the server at the URL, which is that of a field. Connects when it is first used.
    pub(super) fn new(
        config: &Config,
        url: (&str, &'static str),
        counters: Arc<Counters>,
    ) -> Result<Self, Error> {
        Ok(Self {
            pool: session::readers(config, url)?,
            counters,
            query_timeout: config.query_timeout,
            head: Arc::default(),
            begin: session::reading_transaction(config),
            short_reads: Arc::new(ShortReads::new()),
            short_counts: Arc::new(ShortReads::new()),
        })
    }

    /// The head that was seen last: where the log ends now can only be guessed from it.
    pub(super) fn last_head(&self) -> Option<Position> {
        Position::new(self.head.load(Ordering::Relaxed))
    }

    pub(super) fn saw_head(&self, head: Option<Position>) {
        let head = Position::number_or_zero(head);
        self.head.store(head, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Whether each statement has a transaction, so that its rows must be fetched at once.
    pub(super) fn are_pooled(&self) -> bool {
        self.begin.is_some()
    }

    /// The short reads that wait, where another had better join them; `None` where a connection
    /// rests, or where each statement has a transaction.
    pub(super) fn short_reads(&self) -> Option<&ShortReads<EventsOfEach>> {
        self.must_wait().then_some(&*self.short_reads)
    }

    /// As [`Readers::short_reads`], those that count.
    pub(super) fn short_counts(&self) -> Option<&ShortReads<ExtentOfEach>> {
        self.must_wait().then_some(&*self.short_counts)
    }

    fn must_wait(&self) -> bool {
        !self.are_pooled() && !self.pool.has_resting()
    }

    /// All rows of a statement.
    pub(super) async fn rows<'q>(
        &self,
        statement: impl Fn() -> Bound<'q>,
    ) -> Result<Vec<PgRow>, Error> {
        self.fold(statement, Vec::new, |rows, row| {
            rows.push(row);
            Ok(())
        })
        .await
    }

    /// Takes the rows of a statement in as they arrive. A connection that turns out to be dead
    /// costs one more try, from the start.
    pub(super) async fn fold<'q, T>(
        &self,
        statement: impl Fn() -> Bound<'q>,
        start: impl Fn() -> T,
        take: impl Fn(&mut T, PgRow) -> Result<(), Error>,
    ) -> Result<T, Error> {
        let mut folded = start();
        let answer = match self.try_fold(statement(), &mut folded, &take).await {
            Err(failed) if failure(&failed) == Failure::Lost && !self.pool.is_closed() => {
                self.pool.suspect();
                folded = start();
                self.try_fold(statement(), &mut folded, &take).await
            }
            answer => answer,
        };
        answer.map_err(|failed| self.error(&failed))??;
        Ok(folded)
    }

    /// All rows of a statement, tried once.
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

    /// Takes the rows of a statement on this connection in as they arrive, and gives it back.
    pub(super) async fn fold_on<T, E>(
        &self,
        mut connection: Lease,
        statement: Bound<'_>,
        folded: &mut T,
        take: impl Fn(&mut T, PgRow) -> Result<(), E>,
    ) -> Result<Result<(), E>, sqlx::Error> {
        let folding = async {
            match &self.begin {
                None => fold_rows(&mut connection, statement, folded, take).await,
                Some(begin) => {
                    let mut transaction = connection.begin_with(begin.clone()).await?;
                    let statement = statement.persistent(false);
                    let done = fold_rows(&mut transaction, statement, folded, take).await;
                    transaction.rollback().await?;
                    done
                }
            }
        };
        match self.in_time(folding).await {
            Ok(Ok(())) => {
                connection.give_back();
                Ok(Ok(()))
            }
            Err(failed) if failure(&failed) == Failure::Lost => {
                // An answer may still come: nobody else can use this connection.
                connection.discard();
                Err(failed)
            }
            done => done,
        }
    }

    /// What the server answers, unless it takes too long.
    pub(super) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        // The server gives up first; the margin is for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        let mut answer = pin!(answer);
        // What has arrived already, as most rows of a page have, needs no clock.
        if let Poll::Ready(answer) = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await {
            return answer;
        }
        timeout(self.query_timeout.saturating_add(MARGIN), answer)
            .await
            .unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()))
    }

    /// A connection for one statement.
    pub(super) async fn acquire(&self) -> Result<Lease, sqlx::Error> {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        self.pool.acquire().await
    }

    /// When who comes now has waited for long enough.
    pub(super) fn deadline(&self) -> Instant {
        session::end_of(self.query_timeout)
    }

    /// As [`Readers::acquire`], with less time for who has waited already.
    pub(super) async fn acquire_by(&self, deadline: Instant) -> Result<Lease, sqlx::Error> {
        timeout_at(deadline, self.acquire())
            .await
            .unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// Every connection that is open now may be dead.
    pub(super) fn suspect(&self) {
        self.pool.suspect();
    }

    pub(super) fn size(&self) -> u32 {
        self.pool.size()
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    /// A failed read in the store's words.
    pub(super) fn error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            // The pool retries a server that refuses connections until the time is over.
            sqlx::Error::PoolTimedOut if self.pool.size() == 0 => error(failed),
            sqlx::Error::PoolTimedOut => self.timeout(),
            _ if failure(failed) == Failure::Cancelled => self.timeout(),
            _ => error(failed),
        }
    }

    fn timeout(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.query_timeout,
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
