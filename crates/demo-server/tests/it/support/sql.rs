//! A database beside the server.

use local_postgres::{Database, Durability};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

/// A new database.
pub(crate) async fn fresh_database(hint: &str) -> Database {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let database = server.expect("PostgreSQL starts").create_database(hint);
    database.await.expect("the database is created")
}

/// The URL with another user, who needs no password.
pub(crate) fn url_as(url: &str, user: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    let (_, host) = rest.split_once('@').expect("a user");
    format!("{scheme}://{user}@{host}")
}

/// Runs statements, and returns the first column of all rows as text.
pub(crate) async fn sql(url: &str, statements: &str) -> Vec<String> {
    let connection = PgConnection::connect(url).await;
    let mut connection = connection.expect("the server answers");
    let rows = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()))
        .fetch_all(&mut connection)
        .await
        .unwrap_or_else(|failed| panic!("{statements}: {failed}"));
    let texts = rows.iter().map(|row| {
        row.get_unchecked::<Option<String>, _>(0)
            .unwrap_or_default()
    });
    texts.collect()
}
