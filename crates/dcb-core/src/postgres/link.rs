//! The writer's connection, and what is done when it is lost: before another is used, the server
//! process behind the old one is ended, which may still commit what it was sent.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlStr};
use tokio::time::{Instant, sleep, timeout};

use super::pooled;
use super::readers::Bound;
use super::session::end_of;

/// A connection, opened when it is needed.
pub(super) struct Link {
    options: PgConnectOptions,
    /// How a transaction begins, where a session is no longer than that.
    begin: Option<SqlStr>,
    limit: Duration,
    open: Option<Open>,
    /// A backend that may still be committing what it was sent before its connection broke.
    lost: Option<Backend>,
}

struct Open {
    connection: PgConnection,
    /// Which server process may still commit what it was sent, if this connection breaks.
    backend: Option<Backend>,
}

/// A server process, told apart from a later one with the same process id.
enum Backend {
    /// By when it started.
    Session { pid: i32, started: String },
    /// By when its transaction began: behind a pooler, what comes after that is another client's.
    Transaction { pid: i32, began: String },
}

impl Link {
    /// `begin` begins a transaction where a session is no longer than that; a statement may take as
    /// long as `limit`.
    pub(super) fn new(options: PgConnectOptions, begin: Option<SqlStr>, limit: Duration) -> Self {
        Self {
            options,
            begin,
            limit,
            open: None,
            lost: None,
        }
    }

    /// How long a statement may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether a session is no longer than a transaction.
    pub(super) fn is_pooled(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether there is a connection, which may be dead.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Connects where it is not, with no other session left behind.
    pub(super) async fn connect(&mut self) -> Result<(), sqlx::Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => match timeout(self.limit, self.new_session()).await {
                Ok(opened) => opened?,
                Err(_) => return Err(no_answer()),
            },
        };
        if let Some(lost) = &self.lost {
            // Where it can't be asked, the connection may be lost as well: the next is another.
            self.fence(&mut open, lost).await?;
            self.lost = None;
        }
        self.open = Some(open);
        Ok(())
    }

    /// As [`connect`](Self::connect), tried again until the time allowed for a statement is over.
    pub(super) async fn reconnect(&mut self) -> Result<(), sqlx::Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let give_up = end_of(self.limit);
        while let Err(failed) = self.connect().await {
            if Instant::now() >= give_up {
                return Err(failed);
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// The connection broke while it carried something that may be committed.
    pub(super) fn lose(&mut self) {
        self.lost = self.open.take().and_then(|open| open.backend);
    }

    /// The connection broke, and it carried nothing.
    pub(super) fn forget(&mut self) {
        self.open = None;
    }

    /// Ends the session.
    pub(super) async fn close(&mut self) {
        if let Some(open) = self.open.take() {
            // The server ends the session all the same if the farewell does not reach it.
            let _ = open.connection.close().await;
        }
    }

    /// The rows of a statement that changes nothing.
    pub(super) async fn ask(&mut self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        open.ask(self.begin.as_ref(), self.limit, statement).await
    }

    /// How many rows an INSERT that is committed by itself has inserted.
    pub(super) async fn insert(&mut self, statement: Bound<'_>) -> Result<u64, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let inserted = in_time(self.limit, statement.execute(&mut open.connection)).await?;
        Ok(inserted.rows_affected())
    }

    /// The row of an append, committed.
    pub(super) async fn append(&mut self, append: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let Some(begin) = &self.begin else {
            return in_time(self.limit, append.fetch_one(&mut open.connection)).await;
        };
        in_time(self.limit, open.transact(begin, append)).await
    }

    /// Runs statements without values, and commits.
    pub(super) async fn run(&mut self, sql: SqlStr) -> Result<(), sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        in_time(self.limit, sqlx::raw_sql(sql).execute(&mut open.connection)).await?;
        Ok(())
    }

    async fn new_session(&self) -> Result<Open, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if self.begin.is_some() {
            return Ok(Open {
                connection,
                backend: None,
            });
        }
        let row = sqlx::query(
            "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        )
        .fetch_one(&mut connection)
        .await?;
        let backend = Backend::Session {
            pid: row.try_get(0)?,
            started: row.try_get(1)?,
        };
        Ok(Open {
            connection,
            backend: Some(backend),
        })
    }

    /// Ends a session, or the transaction that was its last, and waits until it has ended.
    async fn fence(&self, open: &mut Open, backend: &Backend) -> Result<(), sqlx::Error> {
        const WAIT_MS: i64 = 5000;
        let (sql, pid, since) = match backend {
            Backend::Session { pid, started } => (
                "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
                  WHERE pid = $1 AND backend_start::text = $2",
                pid,
                started,
            ),
            Backend::Transaction { pid, began } => (
                "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
                  WHERE pid = $1 AND extract(epoch FROM xact_start)::text = $2",
                pid,
                began,
            ),
        };
        let statement = sqlx::query(sql).bind(pid).bind(since).bind(WAIT_MS);
        let rows = open.ask(self.begin.as_ref(), self.limit, statement).await?;
        let ended: Option<bool> = rows.first().map(|row| row.try_get(0)).transpose()?;
        if ended == Some(false) {
            Err(no_answer())
        } else {
            Ok(())
        }
    }
}

impl Open {
    async fn ask(
        &mut self,
        begin: Option<&SqlStr>,
        limit: Duration,
        statement: Bound<'_>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        in_time(limit, pooled::rows(&mut self.connection, begin, statement)).await
    }

    /// Appends in a transaction of its own, behind a pooler.
    ///
    /// Until COMMIT is sent nothing can be committed, whatever happens to the connection. Which
    /// server process has the transaction is told by the answer before it.
    async fn transact(&mut self, begin: &SqlStr, append: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        self.backend = None;
        let mut transaction = self.connection.begin_with(begin.clone()).await?;
        match append.persistent(false).fetch_one(&mut *transaction).await {
            Ok(row) => {
                self.backend = Some(Backend::Transaction {
                    pid: row.try_get("pid")?,
                    began: row.try_get("began")?,
                });
                transaction.commit().await?;
                Ok(row)
            }
            Err(failed) => {
                // Where that fails too, the session ends, and with it the transaction.
                let _ = transaction.rollback().await;
                Err(failed)
            }
        }
    }
}

/// What the server answers, unless it takes too long.
async fn in_time<T>(
    limit: Duration,
    sent: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    /// The server gives up first; the margin is for its answer.
    const MARGIN: Duration = Duration::from_secs(1);
    timeout(limit.saturating_add(MARGIN), sent)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

fn no_answer() -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
}
