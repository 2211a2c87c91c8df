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
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::batch::Batch;
use super::column::{Column, Element};
use super::commands::Commands;
use super::counters::Counters;
use super::error::{Failure, error, failure, is_position_taken};
use super::plan::{Answer, Plan, Refusal, Settled};
use super::readers::Bound;
use super::recent_tags::RecentTags;
use super::request::{Request, Verdict};
use super::statements::Statements;
use super::writer_connection::WriterConnection;
use crate::{Appended, Error, Position};

/// Commits batches, one at a time, over a dedicated connection.
pub(super) struct Writer {
    statements: Arc<Statements>,
    counters: Arc<Counters>,
    /// Rarely contended, because the queue makes one call to `commit` at a time. Only `clear`,
    /// `setting` and `close` compete with it.
    session: Mutex<Session>,
}

struct Session {
    connection: WriterConnection,
    batch: Batch,
    commands: Commands,
    recent: RecentTags,
    /// True if checking one key was inconclusive last time, and checking both was conclusive.
    checks_pairs: bool,
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
            session: Mutex::new(Session {
                connection,
                batch: Batch::default(),
                commands: Commands::default(),
                recent: RecentTags::default(),
                checks_pairs: false,
            }),
        }
    }

    /// Connects before the first append.
    pub(super) async fn connect(&self) -> Result<(), Error> {
        let connected = self.session.lock().await.connection.connect().await;
        connected.map_err(|failed| error(&failed))
    }

    /// A setting, as the writer's session sees it.
    pub(super) async fn setting(&self, name: &str) -> Result<String, Error> {
        let connection = &mut self.session.lock().await.connection;
        let was_open = connection.is_open();
        let setting = match setting(connection, name).await {
            // An idle connection may have died unnoticed. The second try opens a new one.
            Err(failed) if was_open && failure(&failed) == Failure::Lost => {
                setting(connection, name).await
            }
            setting => setting,
        };
        setting.map_err(|failed| error(&failed))
    }

    /// Ends the session.
    pub(super) async fn close(&self) {
        self.session.lock().await.connection.close().await;
    }

    /// Empties the log, between two batches.
    pub(super) async fn clear(&self) -> Result<(), Error> {
        let Session {
            connection, recent, ..
        } = &mut *self.session.lock().await;
        // First, because the call may be dropped at any await below.
        recent.forget();
        connection
            .connect()
            .await
            .map_err(|failed| error(&failed))?;
        let Err(failed) = connection.run(self.statements.clear.clone()).await else {
            return Ok(());
        };
        match failure(&failed) {
            Failure::Cancelled => Err(Error::Timeout {
                operation: "clear",
                limit: connection.limit(),
            }),
            Failure::Lost => {
                connection.mark_lost();
                Err(error(&failed))
            }
            Failure::NotSent | Failure::Data | Failure::Refused => Err(error(&failed)),
        }
    }

    /// Appends a batch, optimistically if possible, and notes its tags.
    async fn send(
        &self,
        session: &mut Session,
        plan: &Plan,
        requests: &[Request],
    ) -> Result<Answer, sqlx::Error> {
        if let Some(last) = session.recent.likely_head()
            && session.batch.is_decided_by_keys()
            && session.commands.is_empty()
            // Behind a pooler an append has to return its server process, and an INSERT doesn't.
            && !session.connection.is_pooled()
        {
            let expected = Answer {
                head: last.position,
                ..Answer::default()
            };
            if self
                .send_optimistic(session, plan, requests, &expected)
                .await?
            {
                return Ok(expected);
            }
            session.recent.mark_contended();
        }
        session.batch.complete(requests);
        let append = bind(&self.statements, &session.batch, &session.commands);
        let answer = answer(&session.connection.append(append).await?)?;
        plan.note_appended(requests, &answer, &mut session.recent);
        Ok(answer)
    }

    /// Tries to append the whole batch behind the last event known. Returns false, with nothing
    /// written, if another session has appended or holds the log's lock, or if an event may match a
    /// condition of the batch.
    ///
    /// A check for events that have both keys of a probe makes a lone append about 10 % slower,
    /// whether it finds one or not. So the writer checks one key per probe until that check is
    /// inconclusive.
    async fn send_optimistic(
        &self,
        session: &mut Session,
        plan: &Plan,
        requests: &[Request],
        expected: &Answer,
    ) -> Result<bool, sqlx::Error> {
        let has_pairs = session.batch.has_pairs();
        let attempts: &[bool] = match (has_pairs, session.checks_pairs) {
            (false, _) => &[false],
            (true, false) => &[false, true],
            (true, true) => &[true],
        };
        for &pairs in attempts {
            let Session {
                connection,
                batch,
                recent,
                ..
            } = session;
            let insert = batch.bind_optimistic(&self.statements, pairs);
            // Note the tags while the server works, and undo it if the append fails. `forget` in
            // `commit` covers errors.
            let noting = async { plan.note_appended(requests, expected, recent) };
            let (inserted, ()) = join(connection.insert(insert), noting).await;
            if is_inserted(inserted)? {
                // A batch without pairs says nothing about which check is better.
                session.checks_pairs = if has_pairs {
                    pairs
                } else {
                    session.checks_pairs
                };
                return Ok(true);
            }
            session.recent.undo();
        }
        session.checks_pairs = false;
        Ok(false)
    }

    /// Determines the outcome of a batch whose connection was lost.
    async fn resolve(
        &self,
        connection: &mut WriterConnection,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        // `reconnect` ends the old session first. Otherwise that session could still commit after
        // the lookup, and a resubmitted request would be appended twice.
        connection.reconnect().await?;
        let stored = self.positions(connection, batch).await?;
        Ok(batch
            .iter_mut()
            .map(|request| found(request, &stored))
            .collect())
    }

    async fn positions(
        &self,
        connection: &mut WriterConnection,
        batch: &[Request],
    ) -> Result<HashMap<Uuid, Position>, sqlx::Error> {
        let mut ids = Column::new(Element::Uuid);
        for id in batch.iter().flat_map(|request| request.ids.iter()) {
            ids.push(id.as_bytes());
        }
        let statement = sqlx::query(self.statements.positions_by_id.clone()).bind(&ids);
        let rows = connection.ask(statement).await?;
        let mut stored = HashMap::with_capacity(rows.len());
        for row in &rows {
            let malformed = || sqlx::Error::Decode("a stored id or position".into());
            let id = Uuid::parse_str(row.try_get(0)?).map_err(|_| malformed())?;
            let position: i64 = row.try_get(1)?;
            let position = Position::new(position.unsigned_abs()).ok_or_else(malformed)?;
            stored.insert(id, position);
        }
        Ok(stored)
    }
}

/// Whether an optimistic append succeeded.
fn is_inserted(inserted: Result<u64, sqlx::Error>) -> Result<bool, sqlx::Error> {
    match inserted {
        Ok(rows) => Ok(rows > 0),
        Err(failed) if is_position_taken(&failed) => Ok(false),
        Err(failed) => Err(failed),
    }
}

async fn setting(connection: &mut WriterConnection, name: &str) -> Result<String, sqlx::Error> {
    connection.connect().await?;
    let asked = sqlx::query("SELECT current_setting($1)").bind(name);
    let asked = connection.ask(asked).await;
    if let Err(failed) = &asked
        && failure(failed) == Failure::Lost
    {
        connection.drop_connection();
    }
    let rows = asked?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    row.try_get(0)
}

/// The verdict of a request from the events that are stored. A batch is atomic, so the events of a
/// request are stored together or not at all.
fn found(request: &mut Request, stored: &HashMap<Uuid, Position>) -> Verdict {
    let positions: Option<Vec<_>> = request
        .ids
        .iter()
        .map(|id| stored.get(id).copied())
        .collect();
    // Ids that the caller chose may have been stored before this append: compare the contents.
    if request.known_ids().next().is_some() && positions.is_some() {
        return Verdict::Stored(request.take());
    }
    match positions.and_then(Appended::found) {
        Some(appended) => Verdict::Settled(Ok(appended)),
        None => Verdict::Again(request.take()),
    }
}

/// The `dcb.append` statement for a batch, with its values.
pub(super) fn bind<'b>(
    statements: &Statements,
    batch: &'b Batch,
    commands: &'b Commands,
) -> Bound<'b> {
    if commands.is_empty() {
        batch.bind(statements.append.clone())
    } else {
        commands.bind(batch.bind(statements.append_with_commands.clone()))
    }
}

/// Decodes the row that `dcb.append` returns.
pub(super) fn answer(row: &PgRow) -> Result<Answer, sqlx::Error> {
    let head: i64 = row.try_get(0)?;
    let Some(refused): Option<Vec<i32>> = row.try_get(1)? else {
        return Ok(Answer {
            head: head.unsigned_abs(),
            ..Answer::default()
        });
    };
    let reasons: Vec<i32> = row.try_get(2)?;
    let positions: Vec<Option<i64>> = row.try_get(3)?;
    let refusals =
        refused
            .iter()
            .zip(reasons)
            .zip(positions)
            .map(|((request, reason), position)| {
                let position = position.unwrap_or_default().unsigned_abs();
                let refusal = match reason {
                    1 => Refusal::Stored,
                    2 => Refusal::AfterBeyondHead,
                    3 => Refusal::AlreadyTracked { tracked: position },
                    _ => Refusal::Conflict {
                        position: Position::new(position).unwrap_or(Position::FIRST),
                    },
                };
                (request.unsigned_abs() as usize - 1, refusal)
            });
    Ok(Answer {
        head: head.unsigned_abs(),
        refusals: refusals.collect(),
    })
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
        // `Failed`, not `Unknown`: nothing has been sent yet.
        session
            .connection
            .connect()
            .await
            .map_err(|failed| CommitError::Failed(error(&failed)))?;
        let plan = Plan::new(batch);
        session.batch.fill(batch, &plan, &mut session.recent);
        session.commands.fill(batch, &plan);
        match self.send(session, &plan, batch).await {
            Ok(answer) => {
                self.counters.committed(batch, &plan, &answer);
                Ok(verdicts(&plan, batch, &answer))
            }
            Err(failed) => {
                // The log may or may not have the batch, so its tags are unknown.
                session.recent.forget();
                match failure(&failed) {
                    Failure::Data => Err(CommitError::Refused(error(&failed))),
                    Failure::NotSent | Failure::Refused => Err(CommitError::Failed(error(&failed))),
                    Failure::Cancelled => Err(CommitError::Failed(Error::Timeout {
                        operation: "append",
                        limit: session.connection.limit(),
                    })),
                    Failure::Lost => {
                        self.counters
                            .lost_connections
                            .fetch_add(1, Ordering::Relaxed);
                        session.connection.mark_lost();
                        let resolved = self.resolve(&mut session.connection, batch).await;
                        resolved.map_err(|failed| CommitError::Unknown(error(&failed)))
                    }
                }
            }
        }
    }
}

fn verdicts(plan: &Plan, batch: &mut [Request], answer: &Answer) -> Vec<Verdict> {
    let settled = plan.settle(batch, answer);
    let verdicts = settled
        .into_iter()
        .zip(batch)
        .map(|(settled, request)| match settled {
            Settled::Done(result) => Verdict::Settled(result),
            Settled::Stored => Verdict::Stored(request.take()),
            Settled::Again => Verdict::Again(request.take()),
        });
    verdicts.collect()
}
