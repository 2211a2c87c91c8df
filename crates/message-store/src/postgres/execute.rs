use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::error::error;
use crate::Error;

/// Executes statements without parameters and results.
pub(super) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
    done.map(|_| ()).map_err(|failed| error(&failed))
}
