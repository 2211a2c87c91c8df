//! Reads: each is one statement on one of the readers' connections.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query as Statement;
use sqlx::{Postgres, Row as _, SqlStr};
use tokio::time::timeout;
use uuid::Uuid;

use super::PostgresStore;
use super::column::{Column, Element};
use super::error::{Failure, error, failure};
use super::row;
use super::selection::{Bounds, Selection, Wanted, probes};
use crate::{Error, Events, Position, Query, ReadOptions, SequencedEvent};

/// A statement with its values.
pub(super) type Bound<'q> = Statement<'q, Postgres, PgArguments>;

/// Binds what [`super::statements::Statements::read`] takes.
pub(super) fn bind<'q>(
    sql: SqlStr,
    selection: &'q Selection<'_>,
    bounds: Bounds,
    limit: Option<i64>,
) -> Bound<'q> {
    let statement = sqlx::query(sql)
        .bind(bounds.above)
        .bind(bounds.below)
        .bind(limit);
    match &selection.wanted {
        Wanted::Nothing => statement,
        Wanted::Names {
            event_type,
            tag: None,
        } => statement.bind(*event_type),
        Wanted::Names {
            event_type,
            tag: Some(tag),
        } => statement.bind(*event_type).bind(*tag),
        Wanted::Types(types) => statement.bind(types),
        Wanted::Probes { types, tags } => statement.bind(types).bind(tags),
    }
}

/// Refuses a forward read that starts beyond the head.
pub(super) fn check_after(options: ReadOptions, head: Option<Position>) -> Result<(), Error> {
    match options.after {
        Some(after) if !options.backwards && head < Some(after) => {
            Err(Error::AfterBeyondHead { after, head })
        }
        _ => Ok(()),
    }
}

impl PostgresStore {
    pub(super) async fn read(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        let selection = Selection::of(query);
        let sql = self
            .shared
            .statements
            .read(selection.shape, options.backwards);
        let limit = options
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let bounds = Bounds::of(options);
        let rows = self
            .rows(|| bind(sql.clone(), &selection, bounds, limit))
            .await?;
        let head = rows.first().map(row::head).transpose()?.flatten();
        check_after(options, head)?;
        let mut events = Vec::with_capacity(rows.len());
        for row in &rows {
            events.extend(row::event(row)?);
        }
        Ok(Events { events, head })
    }

    pub(super) async fn last_position(&self) -> Result<Option<Position>, Error> {
        let rows = self
            .rows(|| sqlx::query(self.shared.statements.head.clone()))
            .await?;
        Ok(rows.first().map(row::head).transpose()?.flatten())
    }

    pub(super) async fn number_of(&self, query: &Query) -> Result<u64, Error> {
        if query.is_all() {
            // Positions are dense.
            return Ok(Position::number_or_zero(self.last_position().await?));
        }
        let selection = Selection::of(query);
        let sql = self.shared.statements.count(selection.shape);
        let rows = self
            .rows(|| bind(sql.clone(), &selection, Bounds::ALL, None))
            .await?;
        Ok(scalar::<i64>(&rows)?.map_or(0, i64::unsigned_abs))
    }

    pub(super) async fn has_any(&self, query: &Query) -> Result<bool, Error> {
        if query.is_all() {
            return Ok(self.last_position().await?.is_some());
        }
        let (types, tags) = probes(query);
        let sql = &self.shared.statements.exists;
        let rows = self
            .rows(|| sqlx::query(sql.clone()).bind(&types).bind(&tags))
            .await?;
        Ok(scalar(&rows)?.unwrap_or(false))
    }

    pub(super) async fn last_tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        let sql = &self.shared.statements.tracked;
        let rows = self.rows(|| sqlx::query(sql.clone()).bind(source)).await?;
        Ok(scalar::<i64>(&rows)?.map(i64::unsigned_abs))
    }

    pub(super) async fn events_by_id(&self, ids: &[Uuid]) -> Result<Vec<SequencedEvent>, Error> {
        let mut column = Column::new(Element::Uuid);
        ids.iter().for_each(|id| column.push(id.as_bytes()));
        let sql = &self.shared.statements.by_id;
        let rows = self.rows(|| sqlx::query(sql.clone()).bind(&column)).await?;
        rows.iter()
            .filter_map(|row| row::event(row).transpose())
            .collect()
    }

    /// All rows of a statement. A connection that turns out to be dead costs one more try.
    async fn rows<'q>(&self, statement: impl Fn() -> Bound<'q>) -> Result<Vec<PgRow>, Error> {
        match self.try_rows(statement()).await {
            Err(failed)
                if failure(&failed) == Failure::Lost && !self.shared.readers.is_closed() =>
            {
                self.shared.liveness.suspect();
                self.try_rows(statement())
                    .await
                    .map_err(|failed| self.read_error(&failed))
            }
            rows => rows.map_err(|failed| self.read_error(&failed)),
        }
    }

    async fn try_rows(&self, statement: Bound<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        // The server gives up first; the margin is for its answer.
        const MARGIN: Duration = Duration::from_secs(1);
        self.shared.counters.reads.fetch_add(1, Ordering::Relaxed);
        let mut connection = self.shared.readers.acquire().await?;
        let limit = self.shared.config.query_timeout + MARGIN;
        let Ok(rows) = timeout(limit, statement.fetch_all(&mut *connection)).await else {
            // The answer may still come: nobody else can use this connection.
            drop(connection.detach());
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        };
        rows
    }

    /// A failed read in the store's words.
    pub(super) fn read_error(&self, failed: &sqlx::Error) -> Error {
        match failed {
            sqlx::Error::PoolClosed => Error::Closed,
            // The pool retries a server that refuses connections until the time is over.
            sqlx::Error::PoolTimedOut if self.shared.readers.size() == 0 => error(failed),
            sqlx::Error::PoolTimedOut => self.read_timeout(),
            _ if failure(failed) == Failure::Cancelled => self.read_timeout(),
            _ => error(failed),
        }
    }

    fn read_timeout(&self) -> Error {
        Error::Timeout {
            operation: "read",
            limit: self.shared.config.query_timeout,
        }
    }
}

fn scalar<T>(rows: &[PgRow]) -> Result<Option<T>, Error>
where
    T: for<'r> sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres>,
{
    rows.first()
        .map(|row| row.try_get(0))
        .transpose()
        .map_err(|failed| error(&failed))
}
