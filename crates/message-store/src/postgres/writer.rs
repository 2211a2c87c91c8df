//! Commits batches over one connection and recovers from its loss.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use group_commit::{Commit, CommitError};
use sqlx::Row as _;
use sqlx::postgres::{PgConnectOptions, PgRow};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::batch::Batch;
use super::connection::{Backend, Connection, no_answer};
use super::counters::Counters;
use super::error::{Failure, error, failure};
use super::plan::{Answer, Plan, Refusal};
use super::request::{Request, Verdict};
use super::statements::Statements;
use crate::{Error, GlobalPosition, Notifier, Position, Written};

/// Commits batches one at a time over its own connection.
pub(super) struct Writer {
    pub(super) options: PgConnectOptions,
    pub(super) statements: Arc<Statements>,
    pub(super) counters: Arc<Counters>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) write_timeout: Duration,
    /// The channel to notify, if any.
    pub(super) channel: Option<String>,
    /// Whether a batch waits for the locks of categories. If not, the server refuses requests whose
    /// category is locked.
    pub(super) wait_for_locks: bool,
    /// Hardly ever contended, because the queue calls `commit` one at a time.
    pub(super) session: Mutex<Session>,
}

#[derive(Default)]
pub(super) struct Session {
    connection: Option<Connection>,
    /// A backend that may still be committing a batch sent before its connection broke. It must be
    /// terminated before anything else is sent.
    lost: Option<Backend>,
    batch: Batch,
}

impl Writer {
    /// Connects before the first write.
    pub(super) async fn connect(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        let connected = self.connected(&mut session).await;
        connected.map(|_| ()).map_err(|failed| error(&failed))
    }

    /// Reads a setting in the writer's session.
    pub(super) async fn setting(&self, name: &str) -> Result<String, Error> {
        let mut session = self.session.lock().await;
        let setting = match self.read_setting(&mut session, name).await {
            // The connection died while idle. Retry once on a new one.
            Err(failed) if failure(&failed) == Failure::Lost => {
                self.read_setting(&mut session, name).await
            }
            setting => setting,
        };
        setting.map_err(|failed| error(&failed))
    }

    async fn read_setting(&self, session: &mut Session, name: &str) -> Result<String, sqlx::Error> {
        let connection = self.connected(session).await?;
        let setting = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(name)
            .fetch_one(&mut connection.connection)
            .await;
        if setting.is_err() {
            session.connection = None;
        }
        setting
    }

    /// Closes the connection.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.session.lock().await.connection.take() {
            // If the closing message is lost, the server ends the session anyway.
            let _ = sqlx::Connection::close(connection.connection).await;
        }
    }

    /// Returns the session's connection, or opens one. Terminates a lost session first, so that its
    /// batch can't commit later. A connection that fails here is dropped.
    async fn connected<'s>(
        &self,
        session: &'s mut Session,
    ) -> Result<&'s mut Connection, sqlx::Error> {
        // Take the connection out of the session, so that it closes if this future fails or is
        // dropped.
        let mut connection = match session.connection.take() {
            Some(connection) => connection,
            None => match timeout(self.write_timeout, Connection::open(&self.options)).await {
                Ok(opened) => opened?,
                Err(_) => return Err(no_answer()),
            },
        };
        if let Some(lost) = &session.lost {
            connection.end_other(lost).await?;
            session.lost = None;
        }
        Ok(session.connection.insert(connection))
    }

    /// Calls `connected` until it succeeds or the time limit of a write has passed.
    async fn reconnected<'s>(
        &self,
        session: &'s mut Session,
    ) -> Result<&'s mut Connection, sqlx::Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let give_up = Instant::now() + self.write_timeout;
        while let Err(failed) = self.connected(session).await {
            if Instant::now() >= give_up {
                return Err(failed);
            }
            sleep(PAUSE).await;
        }
        self.connected(session).await
    }

    async fn send(&self, session: &mut Session) -> Result<Answer, sqlx::Error> {
        // The server's own limit is shorter, so this expires only if the connection is broken.
        const MARGIN: Duration = Duration::from_secs(1);
        let connection = session.connection.as_mut().ok_or_else(no_answer)?;
        let write = self.statements.write_batch.clone();
        let query = session
            .batch
            .bind(write, self.wait_for_locks, self.channel.as_deref());
        let answered = query.fetch_one(&mut connection.connection);
        match timeout(self.write_timeout + MARGIN, answered).await {
            Ok(row) => answer(&row?),
            Err(_) => Err(no_answer()),
        }
    }

    /// Sends a batch, and sends it again if the server aborted it to end a deadlock. SQL clients
    /// that lock categories in another order can cause one.
    async fn send_with_deadlock_retry(&self, session: &mut Session) -> Result<Answer, sqlx::Error> {
        const TRIES: u32 = 10;
        for _ in 1..TRIES {
            match self.send(session).await {
                Err(failed) if failure(&failed) == Failure::Deadlock => {}
                sent => return sent,
            }
        }
        self.send(session).await
    }

    /// Finds the outcome of a batch whose connection was lost. Terminates the old session, so that
    /// it can't commit any more, and only then looks the messages up by id.
    async fn resolve(
        &self,
        session: &mut Session,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        self.counters.lost_connection();
        // Set this before reconnecting: if reconnecting fails, the next batch must terminate the
        // old session.
        session.lost = session.connection.take().map(|lost| lost.backend);
        let connection = self.reconnected(session).await?;
        let ids = batch.iter().flat_map(|request| request.ids.iter());
        let stored = connection.positions_by_id(&self.statements, ids).await?;
        Ok(batch
            .iter_mut()
            .map(|request| verdict_after_loss(request, &stored))
            .collect())
    }
}

/// The verdict for a request of a lost batch. Its messages were stored together or not at all.
fn verdict_after_loss(request: &mut Request, stored: &HashMap<Uuid, Written>) -> Verdict {
    let positions = request.ids.iter().map(|id| stored.get(id).copied());
    match positions.collect::<Option<Vec<_>>>() {
        // Ids that the caller chose may be older than this write, so the contents must be compared.
        Some(_) if request.known_ids().next().is_some() => Verdict::Stored(request.take()),
        Some(written) => Verdict::Done(Ok(written)),
        None => Verdict::Again(request.take()),
    }
}

fn answer(row: &PgRow) -> Result<Answer, sqlx::Error> {
    let versions: Vec<i64> = row.try_get(0)?;
    let global_positions: Option<Vec<i64>> = row.try_get(1)?;
    let refused: Option<Vec<i32>> = row.try_get(2)?;
    let reasons: Option<Vec<i32>> = row.try_get(3)?;
    let refusals = refused.unwrap_or_default().into_iter();
    let refusals = refusals.zip(reasons.unwrap_or_default());
    Ok(Answer {
        versions: versions
            .into_iter()
            .map(|version| u64::try_from(version).ok().map(Position::new))
            .collect(),
        global_positions: global_positions
            .unwrap_or_default()
            .into_iter()
            .map(|position| GlobalPosition::new(position.unsigned_abs()))
            .collect(),
        refusals: refusals
            .map(|(request, reason)| (request.unsigned_abs() as usize - 1, refusal(reason)))
            .collect(),
    })
}

/// `functions/write_batch` defines these numbers.
fn refusal(reason: i32) -> Refusal {
    match reason {
        1 => Refusal::Locked,
        2 => Refusal::Stored,
        _ => Refusal::Conflict,
    }
}

impl Commit for Writer {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes()
    }

    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let mut session = self.session.lock().await;
        let session = &mut *session;
        // Nothing has been sent yet, so a failure here has no effect.
        self.connected(session)
            .await
            .map_err(|failed| CommitError::Failed(error(&failed)))?;
        let plan = Plan::new(batch);
        session.batch.fill(batch, &plan);
        let failed = match self.send_with_deadlock_retry(session).await {
            Ok(answer) => {
                let verdicts = plan.verdicts(batch, answer);
                self.counters.committed(&verdicts);
                self.notifier.notify();
                return Ok(verdicts);
            }
            Err(failed) => failed,
        };
        match failure(&failed) {
            // Another process stored the id during the batch. The next attempt finds the id and
            // compares the contents.
            Failure::IdTaken if batch.len() == 1 => Ok(vec![Verdict::Again(batch[0].take())]),
            // `Refused` makes the queue split the batch, so that only the faulty request fails.
            Failure::IdTaken | Failure::Data => Err(CommitError::Refused(error(&failed))),
            Failure::Deadlock | Failure::Refused => Err(CommitError::Failed(error(&failed))),
            Failure::Cancelled => Err(CommitError::Failed(Error::Timeout {
                operation: "write",
                limit: self.write_timeout,
            })),
            Failure::Lost => {
                let resolved = self.resolve(session, batch).await;
                // The batch may have been committed.
                self.notifier.notify();
                resolved.map_err(|failed| CommitError::Unknown(error(&failed)))
            }
        }
    }
}
