//! A session with which a test acts as another user of the database, or looks into it.

use local_postgres::end_sessions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

pub(crate) struct Sql(PgConnection);

impl Sql {
    pub(crate) async fn connect(url: &str) -> Self {
        let connection = PgConnection::connect(url).await;
        Self(connection.expect("the server accepts connections"))
    }

    /// Runs statements without parameters.
    pub(crate) async fn run(&mut self, sql: &str) {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let ran = statements.execute(&mut self.0).await;
        ran.unwrap_or_else(|failed| panic!("{sql}: {failed}"));
    }

    /// The first column of the first row.
    pub(crate) async fn text(&mut self, sql: &str) -> String {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let row = statement.fetch_one(&mut self.0).await;
        let row = row.unwrap_or_else(|failed| panic!("{sql}: {failed}"));
        row.get_unchecked(0)
    }

    /// The same, as a number.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        self.text(sql).await.parse().expect("a number")
    }

    /// Ends the other sessions of the database.
    pub(crate) async fn end_others(&mut self) {
        let others = "datname = current_database() AND pid <> pg_backend_pid()";
        self.run(&end_sessions(others)).await;
    }
}
