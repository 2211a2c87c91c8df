//! One statement, behind a pooler in a transaction of its own.
//!
//! The driver prepares a statement in one message and executes it in another. A pooler in
//! transaction mode may give each to another server process, unless a transaction holds them
//! together; and what is prepared under a name would stay behind in a session that is not ours.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, SqlStr};

use super::readers::Bound;

/// The rows of a statement that changes nothing; `begin` begins its transaction, where it needs
/// one.
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
    transaction.rollback().await?;
    rows
}
