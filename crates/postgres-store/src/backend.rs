//! A server process, as other sessions see it.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Error, Row as _, SqlStr};
use tokio::time::{Instant, sleep};

use crate::statement::{Bound, deadline_after, in_time, no_answer, rows};

/// A server process, identified by its id and a time, because the system reuses process ids.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    pid: i32,
    /// When the session or the transaction began.
    began: String,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    Session,
    /// Behind a pooler, the process serves other clients after this transaction. A process that has
    /// gone on to another one must not be ended.
    Transaction,
}

impl Backend {
    /// Columns that identify the server process and its transaction.
    pub(crate) const OF_TRANSACTION: &'static str =
        "pg_backend_pid() AS pid, extract(epoch FROM now())::text AS began";

    /// The process of a connection without a pooler.
    pub(crate) async fn of_session(connection: &mut PgConnection) -> Result<Self, Error> {
        let row = sqlx::query(
            "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        )
        .fetch_one(connection)
        .await?;
        Ok(Self {
            pid: row.try_get(0)?,
            began: row.try_get(1)?,
            scope: Scope::Session,
        })
    }

    /// The process of the open transaction.
    pub(crate) async fn of_transaction(transaction: &mut PgConnection) -> Result<Self, Error> {
        let sql = format!("SELECT {}", Self::OF_TRANSACTION);
        let asked = sqlx::query(AssertSqlSafe(sql)).persistent(false);
        Self::in_row(&asked.fetch_one(transaction).await?)
    }

    /// The process in a row with the columns [`OF_TRANSACTION`](Self::OF_TRANSACTION).
    pub(crate) fn in_row(row: &PgRow) -> Result<Self, Error> {
        Ok(Self {
            pid: row.try_get("pid")?,
            began: row.try_get("began")?,
            scope: Scope::Transaction,
        })
    }

    /// Its id, if it serves a whole session.
    pub(crate) fn pid_of_session(&self) -> Option<i32> {
        (self.scope == Scope::Session).then_some(self.pid)
    }

    /// Ends the process, and waits up to 5 s until it is gone. Each statement has this time limit, and runs
    /// in a transaction that `begin` begins. One statement if the process had ended before, or had finished
    /// the transaction: the server takes both from its list once the transaction has ended.
    pub(crate) async fn end(
        &self,
        connection: &mut PgConnection,
        begin: Option<&SqlStr>,
        limit: Duration,
    ) -> Result<(), Error> {
        const WAIT: Duration = Duration::from_secs(5);
        const LONGEST_PAUSE: Duration = Duration::from_millis(50);
        let give_up = deadline_after(WAIT);
        let mut pause = Duration::from_millis(1);
        loop {
            // PostgreSQL 13 lacks the form that waits.
            let end = self.select("pg_terminate_backend(pid)");
            let left = in_time(limit, rows(connection, begin, end)).await?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= give_up {
                return Err(no_answer());
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether the process waits for its client. No row if it has ended.
    pub(crate) fn waits_for_client(&self) -> Bound<'static> {
        // NULL to a role that may not see it. Then the process counts as busy.
        self.select("wait_event_type IS NOT DISTINCT FROM 'Client'")
    }

    /// Selects a column from the row of the process. `$1` and `$2` are bound.
    fn select(&self, column: &str) -> Bound<'static> {
        let began = match self.scope {
            Scope::Session => "backend_start::text",
            Scope::Transaction => "extract(epoch FROM xact_start)::text",
        };
        let sql = format!("SELECT {column} FROM pg_stat_activity WHERE pid = $1 AND {began} = $2");
        // Safe to assert: all parts are from here.
        let statement = sqlx::query(AssertSqlSafe(sql));
        statement.bind(self.pid).bind(self.began.clone())
    }
}
