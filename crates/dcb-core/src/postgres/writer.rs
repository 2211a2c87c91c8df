//! What appends: batches become statements, and answers verdicts.

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
use super::link::Link;
use super::plan::{Answer, Plan, Refusal, Settled};
use super::readers::Bound;
use super::recent::Recent;
use super::request::{Request, Verdict};
use super::statements::Statements;
use crate::{Appended, Error, Position};

/// Commits batches, one at a time, over a connection of its own.
pub(super) struct Writer {
    statements: Arc<Statements>,
    counters: Arc<Counters>,
    /// Hardly ever contended: the queue calls `commit` one at a time.
    session: Mutex<Session>,
}

struct Session {
    link: Link,
    batch: Batch,
    commands: Commands,
    recent: Recent,
    /// Whether a look for one key of two was in vain, and a look for both was not.
    pairs: bool,
}

impl Writer {
    pub(super) fn new(link: Link, statements: Arc<Statements>, counters: Arc<Counters>) -> Self {
        Self {
            statements,
            counters,
            session: Mutex::new(Session {
                link,
                batch: Batch::default(),
                commands: Commands::default(),
                recent: Recent::default(),
                pairs: false,
            }),
        }
    }

    /// Connects ahead of the first append.
    pub(super) async fn connect(&self) -> Result<(), Error> {
        let connected = self.session.lock().await.link.connect().await;
        connected.map_err(|failed| error(&failed))
    }

    /// A setting as the writer's own session sees it.
    pub(super) async fn setting(&self, name: &str) -> Result<String, Error> {
        let link = &mut self.session.lock().await.link;
        let was_open = link.is_open();
        let setting = match setting(link, name).await {
            // It may have been dead for long. The next try has a new one.
            Err(failed) if was_open && failure(&failed) == Failure::Lost => {
                setting(link, name).await
            }
            setting => setting,
        };
        setting.map_err(|failed| error(&failed))
    }

    /// Ends the session.
    pub(super) async fn close(&self) {
        self.session.lock().await.link.close().await;
    }

    /// Empties the log, between two batches.
    pub(super) async fn clear(&self) -> Result<(), Error> {
        let Session { link, recent, .. } = &mut *self.session.lock().await;
        // Before anything is sent, so that it is forgotten whatever becomes of this call.
        recent.forget();
        link.connect().await.map_err(|failed| error(&failed))?;
        let Err(failed) = link.run(self.statements.clear.clone()).await else {
            return Ok(());
        };
        match failure(&failed) {
            Failure::Cancelled => Err(Error::Timeout {
                operation: "clear",
                limit: link.limit(),
            }),
            Failure::Lost => {
                link.lose();
                Err(error(&failed))
            }
            Failure::NotSent | Failure::Data | Failure::Refused => Err(error(&failed)),
        }
    }

    /// Appends a batch, and notes what was appended.
    async fn send(
        &self,
        session: &mut Session,
        plan: &Plan,
        requests: &[Request],
    ) -> Result<Answer, sqlx::Error> {
        if let Some(last) = session.recent.likely_head()
            && session.batch.is_decided_by_keys()
            && session.commands.is_empty()
            && !session.link.is_pooled()
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
            session.recent.disturbed();
        }
        session.batch.complete(requests);
        let append = bind(&self.statements, &session.batch, &session.commands);
        let answer = answer(&session.link.append(append).await?)?;
        plan.note_appended(requests, &answer, &mut session.recent);
        Ok(answer)
    }

    /// Appends a batch that a look for keys decides about, all of it behind the last event known:
    /// returns whether it did. In vain where another process has appended, or where there is an
    /// event that may stand against one of the requests.
    ///
    /// To look for events with two keys has a price, whether there are any or not: for a lone append
    /// a tenth. So one key is looked for until that was in vain.
    async fn send_optimistic(
        &self,
        session: &mut Session,
        plan: &Plan,
        requests: &[Request],
        expected: &Answer,
    ) -> Result<bool, sqlx::Error> {
        let has_pairs = session.batch.has_pairs();
        let looks: &[bool] = match (has_pairs, session.pairs) {
            (false, _) => &[false],
            (true, false) => &[false, true],
            (true, true) => &[true],
        };
        for &pairs in looks {
            let Session {
                link,
                batch,
                recent,
                ..
            } = session;
            let insert = batch.bind_optimistic(&self.statements, pairs);
            // It is noted while the server is at work, as if it had been appended.
            let noting = async { plan.note_appended(requests, expected, recent) };
            let (inserted, ()) = join(link.insert(insert), noting).await;
            if is_inserted(inserted)? {
                session.pairs = if has_pairs { pairs } else { session.pairs };
                return Ok(true);
            }
            session.recent.take_back();
        }
        session.pairs = false;
        Ok(false)
    }

    /// Finds out what became of a batch whose connection was lost: makes sure that the old session
    /// can't commit any more, then looks the events up by id.
    async fn resolve(
        &self,
        link: &mut Link,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        link.reconnect().await?;
        let stored = self.positions(link, batch).await?;
        Ok(batch
            .iter_mut()
            .map(|request| found(request, &stored))
            .collect())
    }

    async fn positions(
        &self,
        link: &mut Link,
        batch: &[Request],
    ) -> Result<HashMap<Uuid, Position>, sqlx::Error> {
        let mut ids = Column::new(Element::Uuid);
        for id in batch.iter().flat_map(|request| request.ids.iter()) {
            ids.push(id.as_bytes());
        }
        let statement = sqlx::query(self.statements.positions_by_id.clone()).bind(&ids);
        let rows = link.ask(statement).await?;
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

/// Whether an optimistic append was in time: then there are rows that it inserted.
fn is_inserted(inserted: Result<u64, sqlx::Error>) -> Result<bool, sqlx::Error> {
    match inserted {
        Ok(rows) => Ok(rows > 0),
        Err(failed) if is_position_taken(&failed) => Ok(false),
        Err(failed) => Err(failed),
    }
}

async fn setting(link: &mut Link, name: &str) -> Result<String, sqlx::Error> {
    link.connect().await?;
    let asked = sqlx::query("SELECT current_setting($1)").bind(name);
    let asked = link.ask(asked).await;
    if let Err(failed) = &asked
        && failure(failed) == Failure::Lost
    {
        link.forget();
    }
    let rows = asked?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    row.try_get(0)
}

/// The events of one request are stored all together or not at all.
fn found(request: &mut Request, stored: &HashMap<Uuid, Position>) -> Verdict {
    let positions: Option<Vec<_>> = request
        .ids
        .iter()
        .map(|id| stored.get(id).copied())
        .collect();
    // Ids that the caller chose may have been there before: then the content decides.
    if request.known_ids().next().is_some() && positions.is_some() {
        return Verdict::Stored(request.take());
    }
    match positions.and_then(Appended::found) {
        Some(appended) => Verdict::Settled(Ok(appended)),
        None => Verdict::Again(request.take()),
    }
}

/// The statement for a batch, with its values.
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

/// What the server answered to a batch.
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
        // Nothing has been sent yet: what fails here has no effect.
        session
            .link
            .connect()
            .await
            .map_err(|failed| CommitError::Failed(error(&failed)))?;
        let plan = Plan::of(batch);
        session.batch.fill(batch, &plan, &mut session.recent);
        session.commands.fill(batch, &plan);
        match self.send(session, &plan, batch).await {
            Ok(answer) => {
                self.counters.committed(batch, &plan, &answer);
                Ok(verdicts(&plan, batch, &answer))
            }
            Err(failed) => {
                session.recent.forget();
                match failure(&failed) {
                    Failure::Data => Err(CommitError::Refused(error(&failed))),
                    Failure::NotSent | Failure::Refused => Err(CommitError::Failed(error(&failed))),
                    Failure::Cancelled => Err(CommitError::Failed(Error::Timeout {
                        operation: "append",
                        limit: session.link.limit(),
                    })),
                    Failure::Lost => {
                        self.counters
                            .lost_connections
                            .fetch_add(1, Ordering::Relaxed);
                        session.link.lose();
                        let resolved = self.resolve(&mut session.link, batch).await;
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
