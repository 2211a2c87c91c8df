//! Commits batches over one connection and recovers from its loss.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use group_commit::{Commit, CommitError};
use postgres_store::{Failure, Schema, WriterConnection, Writes, Writing, failure};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use store_meter::QueueMeter;
use tokio::time::Instant;
use uuid::Uuid;

use super::batch::Batch;
use super::counters::Counters;
use super::error::{error, is_id_taken};
use super::plan::{Answer, Plan, Refusal};
use super::request::{Request, Verdict};
use super::sequence;
use super::statements::Statements;
use crate::{Error, GlobalPosition, Notifier, Position, Written};

/// Commits batches one at a time over its own connection.
pub(super) struct Writer {
    pub(super) schema: Schema,
    pub(super) statements: Arc<Statements>,
    pub(super) counters: Arc<Counters>,
    pub(super) notifier: Arc<Notifier>,
    /// The channel to notify, if any.
    pub(super) channel: Option<String>,
    /// Whether a batch waits for the locks of categories. If not, the server refuses requests whose
    /// category is locked.
    pub(super) wait_for_locks: bool,
    pub(super) sessions: Sessions,
}

/// The sessions of a writer. The writers of all namespaces share theirs, so a tenant has no connection
/// of its own.
#[derive(Clone)]
pub(super) struct Sessions(Arc<[Writing<WriterSession>]>);

impl Sessions {
    /// This number of sessions, at least one. Each connects on first use.
    pub(super) fn new(number: usize, settings: &postgres_store::SessionSettings) -> Self {
        let session = || Writing::new(WriterSession::new(WriterConnection::new(settings.clone())));
        Self((0..number.max(1)).map(|_| session()).collect())
    }

    /// A session that no writer uses, or else the first one.
    pub(super) fn any(&self) -> &Writing<WriterSession> {
        self.choose(0)
    }

    /// A session that no writer uses, or else one of those that are in use, by a number of the caller's.
    fn choose(&self, number: usize) -> &Writing<WriterSession> {
        let free = self.0.iter().find(|session| session.is_free());
        free.unwrap_or(&self.0[number % self.0.len()])
    }

    pub(super) async fn close(&self) {
        for session in self.0.iter() {
            session.close().await;
        }
    }
}

/// A session is replaced once it has served this many schemas: one of a namespace each. A session of
/// PostgreSQL keeps what it has compiled for a schema until it ends: about 300 KB for each, and each change of
/// a catalog, such as a new namespace, visits all of it.
pub(super) const SCHEMAS_OF_A_SESSION: usize = 64;

pub(super) struct WriterSession {
    connection: WriterConnection,
    batch: Batch,
    /// The schemas that it has served.
    schemas: HashSet<String>,
}

impl WriterSession {
    fn new(connection: WriterConnection) -> Self {
        Self {
            connection,
            batch: Batch::default(),
            schemas: HashSet::new(),
        }
    }

    /// Replaces the session if it has served too many other schemas than this one.
    fn serve(&mut self, schema: &str) {
        if self.schemas.contains(schema) {
            return;
        }
        if self.schemas.len() == SCHEMAS_OF_A_SESSION {
            self.connection.replace();
            self.schemas.clear();
        }
        self.schemas.insert(schema.to_owned());
    }
}

impl Writes for WriterSession {
    fn connection(&mut self) -> &mut WriterConnection {
        &mut self.connection
    }
}

impl Writer {
    async fn send(&self, session: &mut WriterSession) -> Result<Answer, sqlx::Error> {
        let WriterSession {
            connection, batch, ..
        } = session;
        let write = self.statements.write_batch.clone();
        let write = batch.bind(write, self.wait_for_locks, self.channel.as_deref());
        answer(&connection.write(write).await?)
    }

    /// Sends a batch, and sends it again if the server aborted it to end a deadlock. SQL clients
    /// that lock categories in another order can cause one.
    async fn send_with_deadlock_retry(
        &self,
        session: &mut WriterSession,
        deadline: Instant,
    ) -> Result<Answer, sqlx::Error> {
        const TRIES: u32 = 10;
        for _ in 1..TRIES {
            match self.send_before(session, deadline).await {
                Err(failed)
                    if failure(&failed) == Failure::Deadlock
                        && session.connection.has_time(deadline) => {}
                sent => return sent,
            }
        }
        self.send_before(session, deadline).await
    }

    /// Sends a batch that the server gives up in time for a caller whose time ends at `deadline`.
    async fn send_before(
        &self,
        session: &mut WriterSession,
        deadline: Instant,
    ) -> Result<Answer, sqlx::Error> {
        session.connection.limit_to(deadline).await?;
        self.send(session).await
    }

    /// Commits a batch over a connection that is open.
    async fn commit_connected(
        &self,
        session: &mut WriterSession,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        let ends = batch.iter().map(|request| request.deadline);
        let first = ends.min().expect("a batch has a request");
        let plan = Plan::new(batch);
        session.batch.fill(batch, &plan);
        let failed = match self.send_with_deadlock_retry(session, first).await {
            Ok(answer) => {
                let verdicts = plan.verdicts(batch, answer);
                self.counters.committed(&verdicts);
                self.notifier.notify();
                return Ok(verdicts);
            }
            Err(failed) => failed,
        };
        if matches!(failed, sqlx::Error::RowNotFound) {
            return self.advance_sequence(session, batch).await;
        }
        // Another process stored the id during the batch. The next attempt finds the id and compares
        // the contents.
        if batch.len() == 1 && is_id_taken(&failed) {
            return Ok(vec![Verdict::Again(batch[0].take())]);
        }
        if let Some(of_batch) = failure(&failed).of_batch(error(&failed)) {
            return Err(of_batch);
        }
        let resolved = self.resolve(session, batch).await;
        // The batch may have been committed.
        self.notifier.notify();
        resolved.map_err(|failed| CommitError::Unknown(error(&failed)))
    }

    /// Advances the sequence of global positions, after which the requests can be sent again.
    async fn advance_sequence(
        &self,
        session: &mut WriterSession,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        let advance = self.statements.advance_sequence.clone();
        match session.connection.run(advance).await {
            Ok(()) => Ok(batch
                .iter_mut()
                .map(|request| Verdict::Again(request.take()))
                .collect()),
            Err(failed) if failure(&failed) == Failure::Cancelled => Err(CommitError::Late),
            Err(failed) => {
                if failure(&failed) == Failure::Lost {
                    session.connection.mark_lost();
                }
                let explained = sequence::explain(error(&failed), &self.schema);
                Err(CommitError::Failed(explained))
            }
        }
    }

    /// Finds the outcome of a batch whose connection was lost.
    async fn resolve(
        &self,
        session: &mut WriterSession,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        self.counters.lost_connection();
        let by_id = self.statements.positions_by_id.clone();
        let ids = batch.iter().flat_map(|request| request.ids.iter());
        let connection = &mut session.connection;
        let stored = connection.stored_after_loss(by_id, ids, written).await?;
        let verdicts = batch.iter_mut();
        let verdicts = verdicts.map(|request| verdict_after_loss(request, &stored));
        let verdicts: Vec<Verdict> = verdicts.collect();
        let is_repeated = |verdict| matches!(verdict, &Verdict::Again(_));
        connection.tell_outcome(verdicts.iter().map(is_repeated));
        Ok(verdicts)
    }
}

/// The positions in a row of `positions_by_id`.
fn written(row: &PgRow) -> Result<Written, sqlx::Error> {
    let [position, global_position]: [i64; 2] = [row.try_get(1)?, row.try_get(2)?];
    Ok(Written {
        position: Position::new(position.unsigned_abs()),
        global_position: GlobalPosition::new(global_position.unsigned_abs()),
    })
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

    fn deadline(&self, request: &Request) -> Option<std::time::Instant> {
        Some(request.send_before.into_std())
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.counters.metrics.store().queue())
    }

    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let last = batch.iter().map(|request| request.deadline).max();
        let sends = batch.iter().map(|request| request.send_before).min();
        let sends = sends.expect("a batch has a request");
        let lock = batch[0].locks.first().copied().unwrap_or_default();
        let writing = self.sessions.choose(lock.unsigned_abs() as usize);
        // The writers of other namespaces may use it for longer than a caller has time.
        let Some(mut session) = writing.lock_before(sends).await else {
            return Err(CommitError::Late);
        };
        session.serve(self.schema.name());
        let connected = writing.open(&mut session, last).await;
        // Nothing has been sent yet, so a failure here has no effect.
        connected.map_err(CommitError::Failed)?;
        let session = &mut *session;
        match batch.iter().any(Request::is_late) {
            true => Err(CommitError::Late),
            false => self.commit_connected(session, batch).await,
        }
    }
}
