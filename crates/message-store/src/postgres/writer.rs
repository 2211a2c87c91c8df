//! The connection that writes, and what it does when it is lost.

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

/// Commits batches, one at a time, over a connection of its own.
pub(super) struct Writer {
    pub(super) options: PgConnectOptions,
    pub(super) statements: Arc<Statements>,
    pub(super) counters: Arc<Counters>,
    pub(super) notifier: Arc<Notifier>,
    pub(super) write_timeout: Duration,
    /// Whom to notify in other processes.
    pub(super) channel: Option<String>,
    /// Whether it waits for the locks of categories, or passes over those that are held.
    pub(super) patient: bool,
    /// Hardly ever contended: the queue calls `commit` one at a time.
    pub(super) session: Mutex<Session>,
}

#[derive(Default)]
pub(super) struct Session {
    connection: Option<Connection>,
    /// A backend that may still be committing what it was sent before its connection broke.
    lost: Option<Backend>,
    batch: Batch,
}

impl Writer {
    /// Connects ahead of the first write.
    pub(super) async fn connect(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        let connected = self.connected(&mut session).await;
        connected.map(|_| ()).map_err(|failed| error(&failed))
    }

    /// A setting as the writer's own session sees it.
    pub(super) async fn setting(&self, name: &str) -> Result<String, Error> {
        let mut session = self.session.lock().await;
        let setting = match self.ask(&mut session, name).await {
            // The connection had died unused, and nothing was lost with it.
            Err(failed) if failure(&failed) == Failure::Lost => self.ask(&mut session, name).await,
            setting => setting,
        };
        setting.map_err(|failed| error(&failed))
    }

    async fn ask(&self, session: &mut Session, name: &str) -> Result<String, sqlx::Error> {
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

    /// Ends the session.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.session.lock().await.connection.take() {
            // The server ends the session all the same if the farewell does not reach it.
            let _ = sqlx::Connection::close(connection.connection).await;
        }
    }

    /// The session's connection, opened where there is none, with no other session left behind. One
    /// that fails here is not kept.
    async fn connected<'s>(
        &self,
        session: &'s mut Session,
    ) -> Result<&'s mut Connection, sqlx::Error> {
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

    /// As `connected`, tried again until the time allowed for a write is over.
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
        // The server gives up first; the margin is for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        let connection = session.connection.as_mut().ok_or_else(no_answer)?;
        let write = self.statements.write_batch.clone();
        let query = session
            .batch
            .bind(write, self.patient, self.channel.as_deref());
        let answered = query.fetch_one(&mut connection.connection);
        match timeout(self.write_timeout + MARGIN, answered).await {
            Ok(row) => answer(&row?),
            Err(_) => Err(no_answer()),
        }
    }

    /// Sends a batch again that was chosen to end a deadlock, which other writers can make who take
    /// their locks in another order.
    async fn send_through_deadlocks(&self, session: &mut Session) -> Result<Answer, sqlx::Error> {
        const TRIES: u32 = 10;
        for _ in 1..TRIES {
            match self.send(session).await {
                Err(failed) if failure(&failed) == Failure::Deadlock => {}
                sent => return sent,
            }
        }
        self.send(session).await
    }

    /// Finds out what became of a batch whose connection was lost: makes sure that the old session
    /// can't commit any more, then looks the messages up by id.
    async fn resolve(
        &self,
        session: &mut Session,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        self.counters.lost_connection();
        session.lost = session.connection.take().map(|lost| lost.backend);
        let connection = self.reconnected(session).await?;
        let ids = batch.iter().flat_map(|request| request.ids.iter());
        let stored = connection.places(&self.statements, ids).await?;
        Ok(batch
            .iter_mut()
            .map(|request| found(request, &stored))
            .collect())
    }
}

/// The messages of one request are stored all together or not at all.
fn found(request: &mut Request, stored: &HashMap<Uuid, Written>) -> Verdict {
    let places = request.ids.iter().map(|id| stored.get(id).copied());
    match places.collect::<Option<Vec<_>>>() {
        // Ids that the caller chose may have been there before: then the content decides.
        Some(_) if request.known_ids().next().is_some() => Verdict::Stored(request.take()),
        Some(places) => Verdict::Settled(Ok(places)),
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
        // Nothing has been sent yet: what fails here has no effect.
        self.connected(session)
            .await
            .map_err(|failed| CommitError::Failed(error(&failed)))?;
        let plan = Plan::of(batch);
        session.batch.fill(batch, &plan);
        let failed = match self.send_through_deadlocks(session).await {
            Ok(answer) => {
                let verdicts = plan.settle(batch, answer);
                self.counters.committed(&verdicts);
                self.notifier.notify();
                return Ok(verdicts);
            }
            Err(failed) => failed,
        };
        match failure(&failed) {
            // Alone, it finds what was stored meanwhile.
            Failure::IdTaken if batch.len() == 1 => Ok(vec![Verdict::Again(batch[0].take())]),
            Failure::IdTaken | Failure::Data => Err(CommitError::Refused(error(&failed))),
            Failure::Deadlock | Failure::Refused => Err(CommitError::Failed(error(&failed))),
            Failure::Cancelled => Err(CommitError::Failed(Error::Timeout {
                operation: "write",
                limit: self.write_timeout,
            })),
            Failure::Lost => {
                let resolved = self.resolve(session, batch).await;
                self.notifier.notify();
                resolved.map_err(|failed| CommitError::Unknown(error(&failed)))
            }
        }
    }
}
