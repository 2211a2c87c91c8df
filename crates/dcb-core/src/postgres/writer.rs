//! The one connection that appends, and what it does when it is lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use group_commit::{Commit, CommitError};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlStr};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::batch::Batch;
use super::column::{Column, Element};
use super::commands::Commands;
use super::counters::Counters;
use super::error::{Failure, error, failure, is_position_taken};
use super::plan::{Answer, Plan, Refusal, Settled};
use super::pooled;
use super::readers::Bound;
use super::recent::Recent;
use super::request::{Request, Verdict};
use super::session::end_of;
use super::statements::Statements;
use crate::{Appended, Error, Position};

/// Commits batches, one at a time, over a connection of its own.
pub(super) struct Writer {
    options: PgConnectOptions,
    statements: Arc<Statements>,
    counters: Arc<Counters>,
    append_timeout: Duration,
    /// How a transaction begins, where a session is no longer than that.
    begin: Option<SqlStr>,
    /// Hardly ever contended: the queue calls `commit` one at a time.
    session: Mutex<Session>,
}

#[derive(Default)]
struct Session {
    connection: Option<Connection>,
    /// A backend that may still be committing what it was sent before its connection broke.
    lost: Option<Backend>,
    batch: Batch,
    commands: Commands,
    recent: Recent,
    /// Whether a look for one key of two was in vain, and a look for both was not.
    pairs: bool,
}

struct Connection {
    connection: PgConnection,
    /// Which server process may still commit what it was sent, if this connection breaks.
    backend: Option<Backend>,
}

/// A server process, told apart from a later one with the same process id.
enum Backend {
    /// By when it started.
    Session { pid: i32, started: String },
    /// By when its transaction began: behind a pooler, what comes after that is another client's.
    Transaction { pid: i32, began: String },
}

impl Writer {
    pub(super) fn new(
        options: PgConnectOptions,
        statements: Arc<Statements>,
        counters: Arc<Counters>,
        append_timeout: Duration,
        begin: Option<SqlStr>,
    ) -> Self {
        Self {
            options,
            statements,
            counters,
            append_timeout,
            begin,
            session: Mutex::default(),
        }
    }

    /// Connects ahead of the first append.
    pub(super) async fn connect(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        self.connected(&mut session)
            .await
            .map_err(|failed| error(&failed))?;
        Ok(())
    }

    /// A setting as the writer's own session sees it.
    pub(super) async fn setting(&self, name: &str) -> Result<String, Error> {
        let mut session = self.session.lock().await;
        let is_open = session.connection.is_some();
        let setting = match self.try_setting(&mut session, name).await {
            // It may have been dead for long. The next try has a new one.
            Err(failed) if is_open && failure(&failed) == Failure::Lost => {
                self.try_setting(&mut session, name).await
            }
            setting => setting,
        };
        setting.map_err(|failed| error(&failed))
    }

    async fn try_setting(&self, session: &mut Session, name: &str) -> Result<String, sqlx::Error> {
        let connection = self.connected(session).await?;
        let setting = sqlx::query("SELECT current_setting($1)").bind(name);
        let asked = self.ask(connection, setting).await;
        if let Err(failed) = &asked
            && failure(failed) == Failure::Lost
        {
            session.connection = None;
        }
        let rows = asked?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        row.try_get(0)
    }

    /// The rows of a statement that changes nothing.
    async fn ask(
        &self,
        connection: &mut Connection,
        statement: Bound<'_>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let connection = &mut connection.connection;
        self.in_time(pooled::rows(connection, self.begin.as_ref(), statement))
            .await
    }

    /// Ends the session.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.session.lock().await.connection.take() {
            // The server ends the session all the same if the farewell does not reach it.
            let _ = sqlx::Connection::close(connection.connection).await;
        }
    }

    /// The session's connection, opened where there is none, with no other session left behind.
    async fn connected<'s>(
        &self,
        session: &'s mut Session,
    ) -> Result<&'s mut Connection, sqlx::Error> {
        let mut connection = match session.connection.take() {
            Some(connection) => connection,
            None => match timeout(self.append_timeout, self.open()).await {
                Ok(opened) => opened?,
                Err(_) => return Err(no_answer()),
            },
        };
        if let Some(lost) = &session.lost {
            // Where it can't be asked, the connection may be lost as well: the next is another.
            self.fence(&mut connection, lost).await?;
            session.lost = None;
        }
        Ok(session.connection.insert(connection))
    }

    /// As `connected`, tried again until the time allowed for an append is over.
    async fn reconnected<'s>(
        &self,
        session: &'s mut Session,
    ) -> Result<&'s mut Connection, sqlx::Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        let give_up = end_of(self.append_timeout);
        while let Err(failed) = self.connected(session).await {
            if Instant::now() >= give_up {
                return Err(failed);
            }
            sleep(PAUSE).await;
        }
        self.connected(session).await
    }

    /// Empties the log, between two batches.
    pub(super) async fn clear(&self) -> Result<(), Error> {
        let mut session = self.session.lock().await;
        let session = &mut *session;
        // Before anything is sent, so that it is forgotten whatever becomes of this call.
        session.recent.forget();
        let connection = self
            .connected(session)
            .await
            .map_err(|failed| error(&failed))?;
        let clear = sqlx::raw_sql(self.statements.clear.clone());
        let clear = clear.execute(&mut connection.connection);
        let Err(failed) = self.in_time(clear).await else {
            return Ok(());
        };
        match failure(&failed) {
            Failure::Cancelled => Err(Error::Timeout {
                operation: "clear",
                limit: self.append_timeout,
            }),
            Failure::Lost => {
                session.lost = session.connection.take().and_then(|lost| lost.backend);
                Err(error(&failed))
            }
            Failure::NotSent | Failure::Data | Failure::Refused => Err(error(&failed)),
        }
    }

    async fn send(&self, session: &mut Session) -> Result<Answer, sqlx::Error> {
        if let Some(last) = session.recent.likely_head()
            && session.batch.is_decided_by_keys()
            && session.commands.is_empty()
            && self.begin.is_none()
        {
            if self.send_optimistic(session).await? {
                return Ok(Answer {
                    head: last.position,
                    ..Answer::default()
                });
            }
            session.recent.disturbed();
        }
        let connection = session.connection.as_mut().ok_or_else(no_answer)?;
        let append = bind(&self.statements, &session.batch, &session.commands);
        let sent = async {
            match &self.begin {
                None => append.fetch_one(&mut connection.connection).await,
                Some(begin) => connection.transact(begin, append).await,
            }
        };
        answer(&self.in_time(sent).await?)
    }

    /// Appends a batch that a look for keys decides about, all of it behind the last event known:
    /// returns whether it did. In vain where another process has appended, or where there is an
    /// event that may stand against one of the requests.
    ///
    /// To look for events with two keys has a price, whether there are any or not: for a lone append
    /// a tenth. So one key is looked for until that was in vain.
    async fn send_optimistic(&self, session: &mut Session) -> Result<bool, sqlx::Error> {
        let has_pairs = session.batch.has_pairs();
        let pairs = has_pairs && session.pairs;
        if self.insert(session, pairs).await? {
            return Ok(true);
        }
        session.pairs = has_pairs && !pairs && self.insert(session, true).await?;
        Ok(session.pairs)
    }

    async fn insert(&self, session: &mut Session, pairs: bool) -> Result<bool, sqlx::Error> {
        let connection = session.connection.as_mut().ok_or_else(no_answer)?;
        let insert = session.batch.bind_optimistic(&self.statements, pairs);
        let sent = insert.fetch_one(&mut connection.connection);
        match self.in_time(sent).await {
            Ok(row) => Ok(row.try_get::<Option<bool>, _>(0)?.unwrap_or(false)),
            Err(failed) if is_position_taken(&failed) => Ok(false),
            Err(failed) => Err(failed),
        }
    }

    /// What the server answers, unless it takes too long.
    async fn in_time<T>(
        &self,
        sent: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        /// The server gives up first; the margin is for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        timeout(self.append_timeout.saturating_add(MARGIN), sent)
            .await
            .unwrap_or_else(|_| Err(no_answer()))
    }

    /// Finds out what became of a batch whose connection was lost: makes sure that the old session
    /// can't commit any more, then looks the events up by id.
    async fn resolve(
        &self,
        session: &mut Session,
        batch: &mut [Request],
    ) -> Result<Vec<Verdict>, sqlx::Error> {
        let connection = self.reconnected(session).await?;
        let stored = self.positions(connection, batch).await?;
        Ok(batch
            .iter_mut()
            .map(|request| found(request, &stored))
            .collect())
    }
}

fn no_answer() -> sqlx::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time").into()
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

impl Writer {
    async fn open(&self) -> Result<Connection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if self.begin.is_some() {
            return Ok(Connection {
                connection,
                backend: None,
            });
        }
        let row = sqlx::query(
            "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        )
        .fetch_one(&mut connection)
        .await?;
        let backend = Backend::Session {
            pid: row.try_get(0)?,
            started: row.try_get(1)?,
        };
        Ok(Connection {
            connection,
            backend: Some(backend),
        })
    }

    /// Ends a session, or the transaction that was its last, and waits until it has ended.
    async fn fence(
        &self,
        connection: &mut Connection,
        backend: &Backend,
    ) -> Result<(), sqlx::Error> {
        const WAIT_MS: i64 = 5000;
        let (sql, pid, since) = match backend {
            Backend::Session { pid, started } => (
                "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
                  WHERE pid = $1 AND backend_start::text = $2",
                pid,
                started,
            ),
            Backend::Transaction { pid, began } => (
                "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
                  WHERE pid = $1 AND extract(epoch FROM xact_start)::text = $2",
                pid,
                began,
            ),
        };
        let statement = sqlx::query(sql).bind(pid).bind(since).bind(WAIT_MS);
        let rows = self.ask(connection, statement).await?;
        let ended: Option<bool> = rows.first().map(|row| row.try_get(0)).transpose()?;
        if ended == Some(false) {
            Err(no_answer())
        } else {
            Ok(())
        }
    }

    async fn positions(
        &self,
        connection: &mut Connection,
        batch: &[Request],
    ) -> Result<HashMap<Uuid, Position>, sqlx::Error> {
        let mut ids = Column::new(Element::Uuid);
        for id in batch.iter().flat_map(|request| request.ids.iter()) {
            ids.push(id.as_bytes());
        }
        let statement = sqlx::query(self.statements.positions_by_id.clone()).bind(&ids);
        let rows = self.ask(connection, statement).await?;
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

impl Connection {
    /// Appends in a transaction of its own, behind a pooler.
    ///
    /// Until COMMIT is sent nothing can be committed, whatever happens to the connection. Which
    /// server process has the transaction is told by the answer before it.
    async fn transact(&mut self, begin: &SqlStr, append: Bound<'_>) -> Result<PgRow, sqlx::Error> {
        self.backend = None;
        let mut transaction = self.connection.begin_with(begin.clone()).await?;
        match append.persistent(false).fetch_one(&mut *transaction).await {
            Ok(row) => {
                self.backend = Some(Backend::Transaction {
                    pid: row.try_get("pid")?,
                    began: row.try_get("began")?,
                });
                transaction.commit().await?;
                Ok(row)
            }
            Err(failed) => {
                // Where that fails too, the session ends, and with it the transaction.
                let _ = transaction.rollback().await;
                Err(failed)
            }
        }
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
        self.connected(session)
            .await
            .map_err(|failed| CommitError::Failed(error(&failed)))?;
        let plan = Plan::of(batch);
        session.batch.fill(batch, &plan, &session.recent);
        session.commands.fill(batch, &plan);
        match self.send(session).await {
            Ok(answer) => {
                plan.note_appended(batch, &answer, &mut session.recent);
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
                        limit: self.append_timeout,
                    })),
                    Failure::Lost => {
                        self.counters
                            .lost_connections
                            .fetch_add(1, Ordering::Relaxed);
                        session.lost = session.connection.take().and_then(|lost| lost.backend);
                        let resolved = self.resolve(session, batch).await;
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
