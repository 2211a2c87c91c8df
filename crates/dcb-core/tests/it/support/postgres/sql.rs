//! A session with which a test acts as another user of the database, or inspects it.

use dcb_core::postgres::Config;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::support::wait::wait_until;

/// A database session.
pub(crate) struct Sql {
    connection: PgConnection,
}

impl Sql {
    pub(crate) async fn connect(url: &str) -> Self {
        let connection = PgConnection::connect(url).await;
        Self {
            connection: connection.expect("the server accepts connections"),
        }
    }

    /// Runs statements without parameters.
    pub(crate) async fn try_run(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        statements.execute(&mut self.connection).await.map(|_| ())
    }

    pub(crate) async fn run(&mut self, sql: &str) {
        self.try_run(sql)
            .await
            .unwrap_or_else(|failed| panic!("{sql}: {failed}"));
    }

    /// The first row of the result, as text.
    pub(crate) async fn row(&mut self, sql: &str) -> Vec<String> {
        let row = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&mut self.connection)
            .await
            .unwrap_or_else(|failed| panic!("{sql}: {failed}"));
        (0..row.len())
            .map(|index| row.get_unchecked(index))
            .collect()
    }

    /// The first column of the first row, as a number.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        let row = self.row(sql).await;
        row[0].parse().expect("a number")
    }

    pub(crate) async fn close(self) {
        self.connection.close().await.expect("the session closes");
    }
}

/// A log's lock, held by the test. No append commits until the test releases the lock.
pub(crate) struct LogLock {
    session: Sql,
    schema: String,
}

impl LogLock {
    pub(crate) async fn take(log: &Config) -> Self {
        let mut session = Sql::connect(&log.url).await;
        let schema = log.schema.clone();
        session.run("BEGIN").await;
        session
            .run(&format!(
                "SELECT pg_advisory_xact_lock(1145262642, '{schema}.event'::regclass::oid::int)"
            ))
            .await;
        Self { session, schema }
    }

    /// The ids of the server processes that wait for the lock.
    pub(crate) async fn waiting(&mut self) -> Vec<i32> {
        let sql = format!(
            "SELECT coalesce(string_agg(pid::text, ' ' ORDER BY pid), '') FROM pg_locks \
              WHERE locktype = 'advisory' AND NOT granted \
                AND objid = '{}.event'::regclass::oid",
            self.schema
        );
        let row = self.session.row(&sql).await;
        row[0]
            .split_whitespace()
            .map(|pid| pid.parse().expect("a process id"))
            .collect()
    }

    pub(crate) async fn wait_for_a_waiter(&mut self) {
        wait_until("an append waits for the log's lock", async || {
            !self.waiting().await.is_empty()
        })
        .await;
    }

    pub(crate) async fn release(mut self) {
        self.session.run("COMMIT").await;
        self.session.close().await;
    }
}
