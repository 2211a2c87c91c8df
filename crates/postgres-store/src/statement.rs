//! Statements with their values, and their execution in a session or behind a pooler.
//!
//! The driver prepares a statement in one message and executes it in another. A pooler in
//! transaction mode may send the two to different server processes unless they share a transaction.
//! A named prepared statement would stay behind in a server session that other clients use.

use std::future::{poll_fn, ready};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, Postgres, SqlStr};
use tokio::time::{Instant, timeout_at};

use crate::sign_of_life::EVERY;

/// The longest timeout that PostgreSQL accepts, about 24 days.
pub(crate) const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// The deadline of an operation that starts now.
pub fn deadline_after(limit: Duration) -> Instant {
    Instant::now() + limit.min(LONGEST)
}

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
    in_time_unless(limit, answer, || Box::pin(ready(false))).await
}

/// How long to wait for the answer of a server whose own timeout should have ended the statement.
pub(crate) const MARGIN: Duration = Duration::from_secs(1);

/// Whether an answer is lost. Boxed, because the question is rare and large.
pub(crate) type Asking = Pin<Box<dyn Future<Output = bool> + Send>>;

/// As [`in_time`]. Asks every few seconds whether the answer is lost, and gives up if it is.
pub(crate) async fn in_time_unless<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
    is_lost: impl Fn() -> Asking,
) -> Result<T, sqlx::Error> {
    let mut answer = pin!(answer);
    // Most rows of a page have arrived already: poll once before paying for a timer.
    if let Poll::Ready(answer) = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await {
        return answer;
    }
    let end = deadline_after(limit.saturating_add(MARGIN));
    loop {
        let next = end.min(Instant::now() + EVERY);
        if let Ok(answer) = timeout_at(next, answer.as_mut()).await {
            return answer;
        }
        if Instant::now() >= end {
            return Err(no_answer());
        }
        let mut asking = is_lost();
        let lost_or_answer = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => asking
                .as_mut()
                .poll(cx)
                .map(|is_lost| is_lost.then(|| Err(no_answer()))),
        });
        match timeout_at(end, lost_or_answer).await {
            Ok(None) => {}
            Ok(Some(answer)) => return answer,
            Err(_) => return Err(no_answer()),
        }
    }
}

/// The error of a server that does not answer in time.
pub(crate) fn no_answer() -> sqlx::Error {
    silence("no answer in time".to_owned())
}

/// As [`no_answer`], with the time.
pub(crate) fn no_answer_within(limit: Duration) -> sqlx::Error {
    silence(format!("no answer within {limit:.1?}"))
}

fn silence(text: String) -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, text).into()
}
