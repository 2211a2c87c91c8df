//! Runs a read-only statement. Behind a pooler, an explicit transaction surrounds it.
//!
//! The driver prepares a statement in one message and executes it in another. A pooler in
//! transaction mode may send the two to different server processes unless they share a transaction.
//! A named prepared statement would stay behind in a server session that other clients use.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, SqlStr};

use super::readers::Bound;

/// Fetches the rows of a read-only statement. If `begin` is given, it begins a transaction for it.
pub(super) async fn rows(
    connection: &mut PgConnection,
    begin: Option<&SqlStr>,
    statement: Bound<'_>,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let Some(begin) = begin else {
        return statement.fetch_all(connection).await;
    };
    let mut transaction = connection.begin_with(begin.clone()).await?;
    let rows = statement
        .persistent(false)
        .fetch_all(&mut *transaction)
        .await;
    // Roll back after an error too. Otherwise the pooler would keep the server process for this
    // client.
    transaction.rollback().await?;
    rows
}
