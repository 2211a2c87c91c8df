//! A database session beside the store, for clients of the SQL interface and for checks.

use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _};

/// A database session.
pub(crate) struct Sql {
    connection: PgConnection,
}

/// The code and the message of an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Sql {
    pub(crate) async fn connect(url: &str) -> Self {
        let connection = PgConnection::connect(url).await;
        Self {
            connection: connection.expect("the server answers"),
        }
    }

    /// A session with the role that clients of Message DB use.
    pub(crate) async fn as_message_store(url: &str) -> Self {
        let options: PgConnectOptions = url.parse().expect("a URL");
        let options = options.username("message_store");
        Self {
            connection: options.connect().await.expect("the server answers"),
        }
    }

    pub(crate) async fn try_run(&mut self, sql: &str) -> Result<(), Refused> {
        self.try_rows(sql).await.map(drop)
    }

    pub(crate) async fn run(&mut self, sql: &str) {
        self.rows(sql).await;
    }

    /// The error of a statement that must fail.
    pub(crate) async fn refused(&mut self, sql: &str) -> Refused {
        match self.try_run(sql).await {
            Ok(()) => panic!("{sql} was not refused"),
            Err(refused) => refused,
        }
    }

    /// The message of an error that the SQL interface raises.
    pub(crate) async fn raised(&mut self, sql: &str) -> String {
        let refused = self.refused(sql).await;
        assert_eq!(refused.code, "P0001", "{refused:?}");
        refused.message
    }

    async fn try_rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Refused> {
        let rows = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .fetch_all(&mut self.connection)
            .await;
        let rows = rows.map_err(|failed| {
            let error = failed.as_database_error();
            let error = error.unwrap_or_else(|| panic!("{sql}: {failed}"));
            Refused {
                code: error.code().unwrap_or_default().into_owned(),
                message: error.downcast_ref::<PgDatabaseError>().message().to_owned(),
            }
        })?;
        let text = |row: &sqlx::postgres::PgRow| {
            let column = |index| row.get_unchecked::<Option<String>, _>(index);
            (0..row.len())
                .map(|index| column(index).unwrap_or_else(|| "NULL".to_owned()))
                .collect()
        };
        Ok(rows.iter().map(text).collect())
    }

    /// All rows, as text.
    pub(crate) async fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let rows = self.try_rows(sql).await;
        rows.unwrap_or_else(|refused| panic!("{sql}: {refused:?}"))
    }

    /// The first column of all rows.
    pub(crate) async fn column(&mut self, sql: &str) -> Vec<String> {
        let rows = self.rows(sql).await;
        rows.into_iter().map(|mut row| row.swap_remove(0)).collect()
    }

    /// The first column of the first row.
    pub(crate) async fn value(&mut self, sql: &str) -> String {
        let column = self.column(sql).await;
        column.into_iter().next().expect("a row")
    }

    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        self.value(sql).await.parse().expect("a number")
    }

    /// Writes a message as a client of Message DB does.
    pub(crate) async fn write(&mut self, stream: &str) -> i64 {
        self.number(&format!(
            "SELECT message_store.write_message(gen_random_uuid()::varchar, '{stream}', 'ByClient', '{{}}')"
        ))
        .await
    }

    pub(crate) async fn close(self) {
        self.connection.close().await.expect("an orderly end");
    }
}
