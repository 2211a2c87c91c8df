//! The writer's connection, and its recovery after a loss.
//!
//! A server process may still commit a statement after its client's connection broke. Before a new
//! connection is used, the old server process is fenced: it is terminated, and the writer waits for
//! its end.
//!
//! Invariants:
//!
//! - After [`WriterConnection::connect`] no earlier server process can commit anything. Tested by
//!   `connection.rs` and `silence.rs`.
//! - Behind a pooler nothing can be committed before COMMIT is sent. By then the writer knows which
//!   server process has its transaction, and can fence it. Tested by `sharing.rs`.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlStr};
use tokio::time::{Instant, sleep, timeout};

use super::pooled;
use super::readers::Bound;
use super::session::deadline_after;

/// The connection of the writer, opened on demand.
pub(super) struct WriterConnection {
    options: PgConnectOptions,
    /// The statement that begins a transaction. `None` without a pooler. A pooler may switch to
    /// another session after each transaction, so the statement also sets the timeouts.
    begin: Option<SqlStr>,
    limit: Duration,
    open: Option<Open>,
    /// A server process that may still commit a statement from a broken connection.
    lost: Option<Backend>,
}

struct Open {
    connection: PgConnection,
    /// The server process to fence if this connection breaks. `None` behind a pooler while nothing
    /// can be committed.
    backend: Option<Backend>,
}

/// A server process, identified by its id and a time, because the system reuses process ids.
enum Backend {
    Session {
        pid: i32,
        started: String,
    },
    /// Behind a pooler, the process serves other clients after this transaction. So the time is the
    /// start of the transaction: a process that has gone on to another one must not be fenced.
    Transaction {
        pid: i32,
        began: String,
    },
}

impl WriterConnection {
    /// Behind a pooler, `begin` is the statement that begins each transaction. `limit` bounds each
    /// statement.
    pub(super) fn new(options: PgConnectOptions, begin: Option<SqlStr>, limit: Duration) -> Self {
        Self {
            options,
            begin,
            limit,
            open: None,
            lost: None,
        }
    }

    /// The time limit of a statement.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether the connection goes through a pooler in transaction mode.
    pub(super) fn is_pooled(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether there is a connection. It may be dead.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Connects if there is no connection, and fences a lost server process.
    pub(super) async fn connect(&mut self) -> Result<(), sqlx::Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => match timeout(self.limit, self.new_session()).await {
                Ok(opened) => opened?,
                Err(_) => return Err(no_answer()),
            },
        };
        if let Some(lost) = &self.lost {
            // On an error `open` is dropped, because it may be dead too. `lost` stays, so that the
            // next call fences it.
            self.fence(&mut open, lost).await?;
            self.lost = None;
        }
        self.open = Some(open);
        Ok(())
    }

    /// [Connects](Self::connect), and retries until the time limit of a statement is over.
    pub(super) async fn reconnect(&mut self) -> Result<(), sqlx::Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let give_up = deadline_after(self.limit);
        while let Err(failed) = self.connect().await {
            if Instant::now() >= give_up {
                return Err(failed);
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Drops a broken connection whose last statement may still be committed.
    pub(super) fn mark_lost(&mut self) {
        self.lost = self.open.take().and_then(|open| open.backend);
    }

    /// Drops a broken connection that has nothing to commit.
    pub(super) fn drop_connection(&mut self) {
        self.open = None;
    }

    /// Ends the session.
    pub(super) async fn close(&mut self) {
        if let Some(open) = self.open.take() {
            // If the message does not arrive, the server ends the session when the socket closes.
            let _ = open.connection.close().await;
        }
    }

    /// Fetches the rows of a read-only statement.
    pub(super) async fn ask(&mut self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        open.ask(self.begin.as_ref(), self.limit, statement).await
    }

    /// Runs and commits an INSERT. Returns the number of inserted rows.
    pub(super) async fn insert(&mut self, statement: Bound<'_>) -> Result<u64, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let inserted = in_time(self.limit, statement.execute(&mut open.connection)).await?;
        Ok(inserted.rows_affected())
    }

    /// Runs and commits an append. Returns its row.
    pub(super) async fn append(&mut self, append: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let Some(begin) = &self.begin else {
            return in_time(self.limit, append.fetch_one(&mut open.connection)).await;
        };
        in_time(self.limit, open.transact(begin, append)).await
    }

    /// Runs and commits statements without parameters.
    pub(super) async fn run(&mut self, sql: SqlStr) -> Result<(), sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        in_time(self.limit, sqlx::raw_sql(sql).execute(&mut open.connection)).await?;
        Ok(())
    }

    async fn new_session(&self) -> Result<Open, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if self.begin.is_some() {
            // The pooler assigns a server process per transaction, so there is none to ask for yet.
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

    /// Terminates a server process and waits for its end. A process that has ended, or that has
    /// finished the transaction, is not in the result and needs nothing.
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

    /// Appends in an explicit transaction, behind a pooler.
    ///
    /// Nothing can be committed before COMMIT is sent. The answer to the append, which arrives
    /// before that, names the server process that has the transaction.
    async fn transact(&mut self, begin: &SqlStr, append: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        // The process of the previous transaction may serve another client now: never fence it.
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
                // If the rollback fails too, the session ends, and with it the transaction.
                let _ = transaction.rollback().await;
                Err(failed)
            }
        }
    }
}

/// The server's answer, or an error if it takes too long.
async fn in_time<T>(
    limit: Duration,
    sent: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    /// The server's own timeout should end the statement first; the margin is for its answer.
    const MARGIN: Duration = Duration::from_secs(1);
    timeout(limit.saturating_add(MARGIN), sent)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

fn no_answer() -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
}
