//! The writer's connection, and its recovery after a loss.
//!
//! A server process may still commit a statement after its client's connection broke. Before a new
//! connection is used, the old server process is fenced: it is terminated, and the writer waits for
//! its end.
//!
//! Invariants:
//!
//! - After [`WriterConnection::connect`] no earlier server process can commit anything. Tested by
//!   `connection.rs` and `silence.rs` of `dcb-core` and `crash.rs` of `message-store`.
//! - A session that can't run a statement costs one failed call at most: the next call opens another
//!   session. Tested by `sessions.rs`, also over both stores
//!   (`tests/suite/`).
//! - Behind a pooler nothing can be committed before COMMIT is sent. By then the writer knows which
//!   server process has its transaction, and can fence it. Tested by `sharing.rs` of both.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqlSafeStr as _, SqlStr};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::backend::Backend;
use crate::column::{Column, Element};
use crate::connect::connect;
use crate::failure::{Failure, failure};
use crate::lock_wait::LockWait;
use crate::losses::Losses;
use crate::server::{SessionSettings, statement_timeout};
use crate::sign_of_life::SIGN_OF_LIFE;
use crate::statement::{self, Bound, deadline_after, in_time, no_answer};

/// The connection of the writer, opened on demand.
pub struct WriterConnection {
    session: SessionSettings,
    open: Option<Open>,
    /// A server process that may still commit a statement from a broken connection.
    lost: Option<Backend>,
    lock_wait: LockWait,
    losses: Losses,
}

struct Open {
    connection: PgConnection,
    /// The server process to fence if this connection breaks. `None` behind a pooler while nothing
    /// can be committed.
    backend: Option<Backend>,
    /// How long a statement may run at the server.
    timeout: Duration,
}

impl WriterConnection {
    /// Columns that a statement for [`WriterConnection::write`] must select behind a pooler. They
    /// identify the server process and its transaction.
    pub const PROCESS: &'static str = Backend::OF_TRANSACTION;

    /// A connection that opens with the first [`WriterConnection::connect`].
    pub fn new(session: SessionSettings) -> Self {
        Self {
            session,
            open: None,
            lost: None,
            lock_wait: LockWait::default(),
            losses: Losses::default(),
        }
    }

    /// The time limit of a statement.
    pub fn limit(&self) -> Duration {
        self.session.limit
    }

    /// Whether the connection goes through a pooler in transaction mode.
    pub fn is_pooled(&self) -> bool {
        self.session.begin.is_some()
    }

    /// Connects if there is no connection, and fences a lost server process. Takes no longer than a
    /// statement may.
    pub async fn connect(&mut self) -> Result<(), sqlx::Error> {
        self.connect_within(self.session.limit).await
    }

    /// As [`connect`](Self::connect), but ends before a caller whose time ends at `deadline` has to
    /// give up without an outcome.
    pub async fn connect_before(&mut self, deadline: Option<Instant>) -> Result<(), sqlx::Error> {
        let limit = match deadline {
            Some(deadline) => self.session.time_to_connect(deadline),
            None => self.session.limit,
        };
        self.connect_within(limit).await
    }

    async fn connect_within(&mut self, limit: Duration) -> Result<(), sqlx::Error> {
        let begun = std::time::Instant::now();
        if let Ok(connected) = timeout(limit, self.try_connect()).await {
            return connected;
        }
        let hosts = &self.session.hosts;
        let outage = hosts.outage_since(begun);
        Err(outage.unwrap_or_else(|| hosts.silent(limit)).into())
    }

    async fn try_connect(&mut self) -> Result<(), sqlx::Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.new_session().await?,
        };
        if let Some(lost) = &self.lost {
            // On an error `open` is dropped, because it may be dead too. `lost` stays, so that the
            // next call fences it.
            let (begin, limit) = (self.session.begin.as_ref(), self.session.limit);
            lost.end(&mut open.connection, begin, limit).await?;
            self.lost = None;
        }
        self.open = Some(open);
        Ok(())
    }

    /// Whether a statement can be sent for a caller whose time ends at `deadline`. Otherwise the
    /// answer might come too late.
    pub fn has_time(&self, deadline: Instant) -> bool {
        self.session.timeout_before(deadline).is_some()
    }

    /// Makes the server give up the next statements in time for a caller whose time ends at
    /// `deadline`. Costs a round trip if less time is left than for the last caller or more.
    pub async fn limit_to(&mut self, deadline: Instant) -> Result<(), sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let timeout = self.session.timeout_before(deadline).unwrap_or_default();
        if open.timeout == timeout {
            return Ok(());
        }
        open.timeout = timeout;
        // Behind a pooler, each transaction sets its timeout.
        if self.session.begin.is_some() {
            return Ok(());
        }
        let set = AssertSqlSafe(format!("SET {}", statement_timeout(timeout)));
        let set = self.run(set.into_sql_str()).await;
        if set.is_err() {
            // There is nothing that the server may still commit.
            self.open = None;
        }
        set
    }

    /// [Connects](Self::connect), and retries until the time limit of a statement is over, unless the
    /// server refuses the session for good, or the hosts fail fast.
    pub async fn reconnect(&mut self) -> Result<(), sqlx::Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let give_up = deadline_after(self.session.limit);
        let left = || give_up.saturating_duration_since(Instant::now());
        while let Err(failed) = self.connect_within(left()).await {
            let is_final = self.session.hosts.fails_fast || failure(&failed) == Failure::Refused;
            if is_final || Instant::now() >= give_up {
                return Err(failed);
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Drops a broken connection whose last statement may still be committed.
    pub fn mark_lost(&mut self) {
        self.lost = self.open.take().and_then(|open| open.backend);
        self.losses.lost(&self.session.hosts);
    }

    /// The places of the records that are stored, by id, after the answer to a write of these ids was lost.
    /// Ends the old session first: it could still commit the write after the look-up.
    ///
    /// `by_id` takes the ids as an array, and returns each id that is stored as text, followed by the columns
    /// that `place` reads.
    pub async fn stored_after_loss<'i, T>(
        &mut self,
        by_id: SqlStr,
        ids: impl Iterator<Item = &'i Uuid>,
        place: impl Fn(&PgRow) -> Result<T, sqlx::Error>,
    ) -> Result<HashMap<Uuid, T>, sqlx::Error> {
        self.mark_lost();
        self.reconnect().await?;
        let mut column = Column::new(Element::Uuid);
        for id in ids {
            column.push(id.as_bytes());
        }
        let rows = self.ask(sqlx::query(by_id).bind(&column)).await?;
        let stored = rows.iter().map(|row| {
            let id = Uuid::parse_str(row.try_get(0)?);
            let id = id.map_err(|_| sqlx::Error::Decode("a stored id".into()))?;
            Ok((id, place(row)?))
        });
        stored.collect()
    }

    /// Logs the outcome of writes whose answer was lost: for each, whether it is sent again.
    pub fn tell_outcome(&self, are_repeated: impl Iterator<Item = bool>) {
        let (repeated, found): (Vec<_>, Vec<_>) =
            are_repeated.partition(|is_repeated| *is_repeated);
        let hosts = &self.session.hosts;
        self.losses.looked_up(hosts, found.len(), repeated.len());
    }

    /// Drops an idle connection that gives no sign of life, so that the next call opens another one.
    pub async fn keep_alive(&mut self) {
        let Some(open) = &mut self.open else {
            return;
        };
        let pinged = timeout(SIGN_OF_LIFE, open.connection.ping()).await;
        if !matches!(pinged, Ok(Ok(()))) {
            // The session is idle, so there is nothing that the server may still commit.
            self.open = None;
        }
    }

    /// Ends an idle session, so that the next call opens another one. That call makes sure that the server
    /// process has ended, as after a loss. Behind a pooler the session is the pooler's, and stays.
    pub fn replace(&mut self) {
        if self.is_pooled() {
            return;
        }
        if let Some(open) = self.open.take() {
            self.lost = open.backend;
        }
    }

    /// Ends the session.
    pub async fn close(&mut self) {
        if let Some(open) = self.open.take() {
            // If the message does not arrive, the server ends the session when the socket closes.
            let _ = open.connection.close().await;
        }
    }

    /// Fetches the rows of a read-only statement.
    pub async fn ask(&mut self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let asked = open
            .ask(self.session.begin.as_ref(), self.session.limit, statement)
            .await;
        self.keep_session(asked)
    }

    /// Runs and commits an INSERT. Returns the number of inserted rows. Not for use behind a pooler.
    pub async fn insert(&mut self, statement: Bound<'_>) -> Result<u64, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let (hosts, pid) = (&self.session.hosts, open.pid());
        let inserted = in_time(self.session.limit, statement.execute(&mut open.connection));
        let inserted = self.lock_wait.watch(hosts, pid, inserted).await;
        Ok(self.keep_session(inserted)?.rows_affected())
    }

    /// Runs and commits a statement that writes, and returns its row. Behind a pooler the row must
    /// have the columns [`WriterConnection::PROCESS`].
    pub async fn write(&mut self, statement: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let limit = self.session.limit;
        let written = match self.session.begin_within(open.timeout) {
            None => {
                let (hosts, pid) = (&self.session.hosts, open.pid());
                let written = in_time(limit, statement.fetch_one(&mut open.connection));
                self.lock_wait.watch(hosts, pid, written).await
            }
            Some(begin) => in_time(limit, open.transact(&begin, statement)).await,
        };
        self.keep_session(written)
    }

    /// Runs and commits statements without parameters.
    pub async fn run(&mut self, sql: SqlStr) -> Result<(), sqlx::Error> {
        let open = self.open.as_mut().ok_or_else(no_answer)?;
        let run = sqlx::raw_sql(sql).execute(&mut open.connection);
        let run = in_time(self.session.limit, run).await;
        self.keep_session(run).map(drop)
    }

    /// Passes the answer to a statement on. Drops the session if it is the reason for a failure, so
    /// that the next call opens another one. The statement had no effect, so the server process
    /// needs no fence.
    fn keep_session<T>(&mut self, answer: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if let Err(failed) = &answer
            && matches!(failure(failed), Failure::ReadOnly | Failure::Session)
        {
            self.open = None;
        }
        answer
    }

    /// [Asks](Self::ask), and connects if necessary.
    pub async fn connect_and_ask(
        &mut self,
        statement: impl Fn() -> Bound<'static>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let was_open = self.open.is_some();
        match self.try_to_ask(statement()).await {
            // An idle connection may have died unnoticed. The second try opens a new one.
            Err(failed) if was_open && failure(&failed).ends_session() => {
                self.try_to_ask(statement()).await
            }
            rows => rows,
        }
    }

    async fn try_to_ask(&mut self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        self.connect().await?;
        let asked = self.ask(statement).await;
        if let Err(failed) = &asked
            && failure(failed) == Failure::Lost
        {
            // The statement had nothing to commit, so its server process needs no fence.
            self.open = None;
        }
        asked
    }

    async fn new_session(&self) -> Result<Open, sqlx::Error> {
        let mut connection = connect(&self.session.hosts).await?;
        if self.session.begin.is_some() {
            // The pooler assigns a server process per transaction, so there is none to ask for yet.
            return Ok(Open {
                connection,
                backend: None,
                timeout: self.session.longest_timeout(),
            });
        }
        let backend = Backend::of_session(&mut connection).await?;
        Ok(Open {
            connection,
            backend: Some(backend),
            timeout: self.session.longest_timeout(),
        })
    }
}

impl Open {
    /// The server process of the next statement. `None` behind a pooler, which chooses one.
    fn pid(&self) -> Option<i32> {
        self.backend.as_ref()?.pid_of_session()
    }

    async fn ask(
        &mut self,
        begin: Option<&SqlStr>,
        limit: Duration,
        statement: Bound<'_>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        in_time(
            limit,
            statement::rows(&mut self.connection, begin, statement),
        )
        .await
    }

    /// Writes in an explicit transaction, behind a pooler.
    ///
    /// Nothing can be committed before COMMIT is sent. The answer to the statement, which arrives
    /// before that, names the server process that has the transaction.
    async fn transact(
        &mut self,
        begin: &SqlStr,
        statement: Bound<'_>,
    ) -> Result<PgRow, sqlx::Error> {
        // The process of the previous transaction may serve another client now: never fence it.
        self.backend = None;
        let mut transaction = self.connection.begin_with(begin.clone()).await?;
        match statement
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await
        {
            Ok(row) => {
                self.backend = Some(Backend::in_row(&row)?);
                transaction.commit().await?;
                Ok(row)
            }
            Err(failed) => {
                // If the rollback fails too, the session ends, and with it the transaction.
                let _ = transaction.rollback().await;
                if failure(&failed) == Failure::ReadOnly {
                    self.end_read_only_session(begin).await;
                }
                Err(failed)
            }
        }
    }

    /// Ends the server's session of the next transaction if it is read-only by its settings, so that
    /// the pooler opens another one. Otherwise the pooler would keep the session, with the settings
    /// of the time when it began. A standby's session is not read-only by its settings, and accepts
    /// writes once the standby is promoted.
    async fn end_read_only_session(&mut self, begin: &SqlStr) {
        let end = sqlx::query(
            "SELECT pg_terminate_backend(pg_backend_pid()) \
              WHERE current_setting('transaction_read_only') = 'on' AND NOT pg_is_in_recovery()",
        );
        // On success this returns an error, because the session ends before it answers.
        let _ = statement::rows(&mut self.connection, Some(begin), end).await;
    }
}
