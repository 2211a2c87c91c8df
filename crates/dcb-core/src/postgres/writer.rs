//! The writer: sends batches of appends to the server and turns its answers into verdicts.
//!
//! Invariants:
//!
//! - The writer never resends a batch whose outcome it does not know. After a lost connection it
//!   ends the old session, looks the events up by id, and returns only the missing requests for
//!   another try. Tested by `connection.rs`, `silence.rs` and `server.rs`.
//! - No state of the process is needed for correctness: several processes append to one log, and
//!   the lock in `dcb.append` orders them. Tested by `processes.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join;
use group_commit::{Commit, CommitError};
use postgres_store::{Failure, WriterConnection, Writes, Writing, deadline_after, failure};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use store_meter::QueueMeter;
use tokio::time::Instant;
use uuid::Uuid;

use super::counters::Counters;
use super::error::{error, is_position_taken};
use super::parameters::Parameters;
use super::plan::{Plan, RefusalReason, Refusals, refusal};
use super::recent_tags::RecentTags;
use super::request::{Request, Verdict};
use super::statements::Statements;
use crate::{Appended, Error, Fault, Position};

/// Commits batches, one at a time, over a dedicated connection.
pub(super) struct Writer {
    statements: Arc<Statements>,
    counters: Arc<Counters>,
    /// Shared by `commit`, `clear`, `health` and `close`.
    pub(super) session: Writing<WriterSession>,
}

pub(super) struct WriterSession {
    connection: WriterConnection,
    parameters: Parameters,
    recent: RecentTags,
}

impl Writer {
    pub(super) fn new(
        connection: WriterConnection,
        statements: Arc<Statements>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            statements,
            counters,
            session: Writing::new(WriterSession {
                connection,
                parameters: Parameters::default(),
                recent: RecentTags::default(),
            }),
        }
    }

    /// Empties the log, between two batches.
    pub(super) async fn clear(&self) -> Result<(), Error> {
        let WriterSession {
            connection, recent, ..
        } = &mut *self.session.lock().await;
        // First, because the call may be dropped at any await below.
        recent.forget();
        connection
            .connect()
            .await
            .map_err(|failed| error(&failed))?;
        // The last batch may have left less time.
        let limited = connection.limit_to(deadline_after(connection.limit()));
        limited.await.map_err(|failed| error(&failed))?;
        let Err(failed) = connection.run(self.statements.clear.clone()).await else {
            return Ok(());
        };
        match failure(&failed) {
            Failure::Cancelled => Err(Fault::TimedOut {
                operation: "clear",
                limit: connection.limit(),
            }
            .into()),
            Failure::Lost => {
                connection.mark_lost();
                Err(error(&failed))
            }
            Failure::NotSent
            | Failure::Data
            | Failure::Deadlock
            | Failure::ReadOnly
            | Failure::Session
            | Failure::Refused => Err(error(&failed)),
        }
    }

    /// Appends a batch, by INSERT if that is likely to succeed and otherwise by `dcb.append`, and
    /// notes its tags.
    async fn send(
        &self,
        session: &mut WriterSession,
        plan: &Plan,
        requests: &[Arc<Request>],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        let ends = requests.iter().filter_map(|request| request.deadline);
        if let Some(first) = ends.min() {
            session.connection.limit_to(first).await?;
        }
        let expected_head = session.expected_head();
        if let Some(head) = expected_head {
            let verdicts = plan.verdicts(requests, head, Refusals::new());
            if self.insert(session, requests, head, &verdicts).await? {
                return Ok(verdicts);
            }
        }
        session.parameters.complete(requests);
        let append = session.parameters.append(&self.statements);
        let row = session.connection.write(append).await?;
        let (head, refusals) = decode(&row, requests, &session.parameters)?;
        let is_as_expected = expected_head == Some(head) && refusals.is_empty();
        let verdicts = plan.verdicts(requests, head, refusals);
        session.recent.note_appended(head, requests, &verdicts);
        if is_as_expected {
            // Neither another session nor a conflict stopped the INSERT: an event has the key that
            // it looked up, but does not match.
            session.recent.note_left_open();
        } else if expected_head.is_some() {
            session.recent.mark_contended();
        }
        Ok(verdicts)
    }

    /// Tries to insert the whole batch behind the last event known. Returns false, with nothing
    /// written, if another session has appended or holds the log's lock, or if an event may match a
    /// condition of the batch.
    async fn insert(
        &self,
        session: &mut WriterSession,
        requests: &[Arc<Request>],
        head: u64,
        verdicts: &[Verdict],
    ) -> Result<bool, sqlx::Error> {
        let WriterSession {
            connection,
            parameters,
            recent,
        } = session;
        let insert = parameters.insert(&self.statements);
        // Note the tags while the server works, and undo it if the append fails. `forget` in
        // `commit` covers errors.
        let noting = async { recent.note_appended(head, requests, verdicts) };
        let (inserted, ()) = join(connection.insert(insert), noting).await;
        let inserted = is_inserted(inserted)?;
        if !inserted {
            recent.undo();
        }
        Ok(inserted)
    }

    /// Commits a batch over a connection that is open.
    async fn commit_connected(
        &self,
        session: &mut WriterSession,
        batch: &[Arc<Request>],
    ) -> Result<Vec<Verdict>, CommitError<Error>> {
        let plan = Plan::new(batch);
        session.parameters.fill(batch, &plan, &mut session.recent);
        match self.send(session, &plan, batch).await {
            Ok(verdicts) => {
                self.counters.committed(batch, &verdicts);
                Ok(verdicts)
            }
            Err(failed) => {
                // The log may or may not have the batch, so its tags are unknown.
                session.recent.forget();
                if let Some(of_batch) = failure(&failed).of_batch(error(&failed)) {
                    return Err(of_batch);
                }
                self.counters
                    .lost_connections
                    .fetch_add(1, Ordering::Relaxed);
                self.counters.metrics.store().lost_writer();
                let resolved = self.resolve(&mut session.connection, batch).await;
                resolved.map_err(|failed| CommitError::Unknown(error(&failed)))
            }
        }
    }

    /// Determines the outcome of a batch whose connection was lost.
    async fn resolve(
        &self,
        connection: &mut WriterConnection,
        batch: &[Arc<Request>],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        let by_id = self.statements.positions_by_id.clone();
        let ids = batch.iter().flat_map(|request| request.ids.iter());
        let position = |row: &PgRow| {
            let malformed = || sqlx::Error::Decode("a stored position".into());
            let position: i64 = row.try_get(1)?;
            Position::new(position.unsigned_abs()).ok_or_else(malformed)
        };
        let stored = connection.stored_after_loss(by_id, ids, position).await?;
        let verdict = |request: &Arc<Request>| found(request, &stored);
        let verdicts: Vec<Verdict> = batch.iter().map(verdict).collect();
        let is_repeated = |verdict| matches!(verdict, &Verdict::Again);
        connection.tell_outcome(verdicts.iter().map(is_repeated));
        Ok(verdicts)
    }
}

impl Writes for WriterSession {
    fn connection(&mut self) -> &mut WriterConnection {
        &mut self.connection
    }
}

impl WriterSession {
    /// The position behind which an INSERT of the batch is likely to succeed. `None` if the batch
    /// needs `dcb.append`, or if recent batches met other writers, or lookups that left a probe open.
    fn expected_head(&self) -> Option<u64> {
        let last = self.recent.likely_head()?;
        let is_possible = self.parameters.fits_insert()
            // Behind a pooler an append has to return its server process, and an INSERT doesn't.
            && !self.connection.is_pooled();
        let is_likely = !self.parameters.may_stay_open() || self.recent.likely_settles();
        (is_possible && is_likely).then_some(last.position)
    }
}

/// Whether an INSERT has appended the batch.
fn is_inserted(inserted: Result<u64, sqlx::Error>) -> Result<bool, sqlx::Error> {
    match inserted {
        Ok(rows) => Ok(rows > 0),
        Err(failed) if is_position_taken(&failed) => Ok(false),
        Err(failed) => Err(failed),
    }
}

/// The verdict of a request from the events that are stored. A batch is atomic, so the events of a
/// request are stored together or not at all.
fn found(request: &Request, stored: &HashMap<Uuid, Position>) -> Verdict {
    let positions: Option<Vec<_>> = request
        .ids
        .iter()
        .map(|id| stored.get(id).copied())
        .collect();
    // Ids that the caller chose may have been stored before this append: compare the contents.
    if request.known_ids().next().is_some() && positions.is_some() {
        return Verdict::Stored;
    }
    match positions.and_then(Appended::found) {
        Some(appended) => Verdict::Done(Ok(appended)),
        None => Verdict::Again,
    }
}

/// Decodes the row that `dcb.append` returned for these parameters: the head before the batch, and
/// the refusals.
pub(super) fn decode(
    row: &PgRow,
    requests: &[Arc<Request>],
    parameters: &Parameters,
) -> Result<(u64, Refusals), sqlx::Error> {
    let head = row.try_get::<i64, _>(0)?.unsigned_abs();
    let Some(refused): Option<Vec<i32>> = row.try_get(1)? else {
        return Ok((head, Refusals::new()));
    };
    let reasons: Vec<i32> = row.try_get(2)?;
    let positions: Vec<Option<i64>> = row.try_get(3)?;
    let refusals = refused.iter().zip(reasons).zip(positions);
    let refusals = refusals.map(|((number, code), position)| {
        let index = number.unsigned_abs() as usize - 1;
        let reason = RefusalReason {
            code,
            position: position.unwrap_or_default().unsigned_abs(),
            // From 4 on, a code is 3 plus the number of the probe that found the conflict.
            condition: parameters.condition_of_probe(code - 3).unwrap_or_default(),
        };
        (index, refusal(reason, &requests[index], head))
    });
    Ok((head, refusals.collect()))
}

impl Commit for Writer {
    type Request = Arc<Request>;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Arc<Request>) -> usize {
        request.size_bytes()
    }

    fn deadline(&self, request: &Arc<Request>) -> Option<std::time::Instant> {
        request.send_before.map(Instant::into_std)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.counters.metrics.store().queue())
    }

    async fn commit(&self, batch: &mut [Arc<Request>]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let last = batch.iter().filter_map(|request| request.deadline).max();
        let connected = self.session.connected(last).await;
        // `Failed`, not `Unknown`: nothing has been sent yet.
        let session = &mut *connected.map_err(CommitError::Failed)?;
        match batch.iter().any(|request| request.is_late()) {
            true => Err(CommitError::Late),
            false => self.commit_connected(session, batch).await,
        }
    }
}
