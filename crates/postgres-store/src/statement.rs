//! Statements with their values, and their execution in a session or behind a pooler.
//!
//! The driver prepares a statement in one message and executes it in another. A pooler in
//! transaction mode may send the two to different server processes unless they share a transaction.
//! A named prepared statement would stay behind in a server session that other clients use.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, Postgres, SqlStr};
use tokio::time::timeout;

/// A statement with its values.
pub type Bound<'q> = Query<'q, Postgres, PgArguments>;

/// Runs a statement and fetches its rows. If `begin` is given, it begins a transaction for the
/// statement, and this function commits it.
///
/// # Errors
/// The driver's error. After a lost connection it is unknown whether the statement was committed.
pub async fn rows(
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
    // End the transaction after an error too. Otherwise the pooler would keep the server process
    // for this client.
    transaction.commit().await?;
    rows
}

/// Runs a statement as [`rows`] does, and returns the number of rows that it changed.
///
/// # Errors
/// The errors of [`rows`].
pub async fn execute(
    connection: &mut PgConnection,
    begin: Option<&SqlStr>,
    statement: Bound<'_>,
) -> Result<u64, sqlx::Error> {
    let Some(begin) = begin else {
        return Ok(statement.execute(connection).await?.rows_affected());
    };
    let mut transaction = connection.begin_with(begin.clone()).await?;
    let done = statement.persistent(false).execute(&mut *transaction).await;
    transaction.commit().await?;
    Ok(done?.rows_affected())
}

/// Waits for the server's answer to a statement with this time limit.
///
/// # Errors
/// The server's error; [`sqlx::Error::Io`], which counts as a lost connection, if no answer arrives
/// in time.
pub async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    /// The server's own timeout should end the statement first; the margin is for its answer.
    const MARGIN: Duration = Duration::from_secs(1);
    let mut answer = pin!(answer);
    // Most rows of a page have arrived already: poll once before paying for a timer.
    if let Poll::Ready(answer) = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await {
        return answer;
    }
    timeout(limit.saturating_add(MARGIN), answer)
        .await
        .unwrap_or_else(|_| Err(no_answer()))
}

/// The error of a server that does not answer in time.
pub(crate) fn no_answer() -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
}
