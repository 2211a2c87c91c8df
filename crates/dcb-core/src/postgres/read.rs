//! Reads: each is one statement on one of the readers' connections.
//!
//! A short range is read as it stands, where the head that was seen last makes a range short. The
//! answer tells the head that there is; if that makes the range a long one, there is no other part
//! of an answer, and it is asked for by index.
//!
//! With a replica, reads go there, and are as old as it is. What it does not have yet is read from
//! the primary: a read whose `after` is beyond the replica's head. So are the answers that appends
//! depend on: events by id, and what was tracked.

use sqlx::postgres::PgRow;
use sqlx::{Postgres, Row as _, SqlStr};
use uuid::Uuid;

use super::PostgresStore;
use super::column::{Column, Element};
use super::error::error;
use super::readers::{Bound, Readers};
use super::row;
use super::selection::{Bounds, Selection, Shape, Wanted, probes};
use super::short_read::ShortRead;
use crate::extent::Span;
use crate::{Error, Events, Extent, Position, Query, ReadOptions, SequencedEvent};

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

/// How many events are wanted at most.
fn most(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// What a read has taken in: the row with the head, then the events.
struct Answer {
    head: Option<Option<Position>>,
    events: Vec<SequencedEvent>,
    /// How many events are wanted at most.
    limit: usize,
}

impl Answer {
    fn of(limit: Option<u64>) -> Self {
        Self {
            head: None,
            events: Vec::new(),
            limit: most(limit),
        }
    }

    fn take(&mut self, shape: Shape, query: &Query, event: SequencedEvent) {
        if shape.is_exact() || self.events.len() < self.limit && query.matches(&event) {
            self.events.push(event);
        }
    }
}

impl PostgresStore {
    pub(super) async fn read(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        match self.read_from(&self.shared.readers, query, options).await {
            Err(Error::AfterBeyondHead { .. }) if self.shared.reads_a_replica() => {
                self.read_from(&self.shared.primary, query, options).await
            }
            read => read,
        }
    }

    async fn read_from(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Events, Error> {
        let selection = Selection::of(query);
        let limit = options
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let bounds = Bounds::of(options);
        if let Some(found) = self.read_with_others(readers, query, options).await? {
            return Ok(found);
        }
        let mut head = readers.last_head();
        loop {
            let shape = selection.shape(bounds, head);
            let sql = self.shared.statements.read(shape, options.backwards);
            let answer = readers
                .fold(
                    || bind(sql.clone(), &selection, bounds, limit),
                    || Answer::of(options.limit),
                    |answer, row| {
                        match answer.head {
                            None => answer.head = Some(row::head(&row)?),
                            Some(_) => answer.take(shape, query, row::event(&row)?),
                        }
                        Ok(())
                    },
                )
                .await?;
            head = answer.head.flatten();
            readers.saw_head(head);
            if !shape.fits(bounds, head) {
                continue;
            }
            check_after(options, head)?;
            return Ok(Events {
                events: answer.events,
                head,
            });
        }
    }

    /// The events of a read that is thought to be short, where no connection is free; `None` where
    /// it is to be asked alone.
    pub(super) async fn read_with_others(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Option<Events>, Error> {
        let (bounds, head) = (Bounds::of(options), readers.last_head());
        if options.backwards || head.is_none() || !bounds.are_short(head) {
            return Ok(None);
        }
        let Some(waiting) = readers.short_reads() else {
            return Ok(None);
        };
        let selection = Selection::of(query);
        let limit = options
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let read = ShortRead::of(query, &selection, bounds, limit);
        let sql = &self.shared.statements.read_together;
        let found = readers.read_together(waiting, read, sql).await?;
        let Some(mut found) = found.filter(|found| bounds.are_short(found.head)) else {
            return Ok(None);
        };
        check_after(options, found.head)?;
        if !selection.is_exact_in_short_range() {
            found.events.retain(|event| query.matches(event));
            found.events.truncate(most(options.limit));
        }
        Ok(Some(found))
    }

    pub(super) async fn last_position(&self) -> Result<Option<Position>, Error> {
        let rows = self
            .shared
            .readers
            .rows(|| sqlx::query(self.shared.statements.head.clone()))
            .await?;
        let head = rows.first().map(row::head).transpose()?.flatten();
        self.shared.readers.saw_head(head);
        Ok(head)
    }

    pub(super) async fn extent_of(&self, query: &Query, span: Span) -> Result<Extent, Error> {
        if query.is_all() {
            return Ok(Extent::of_all(self.last_position().await?, span));
        }
        let selection = Selection::of(query);
        let bounds = Bounds::within(span);
        let readers = &self.shared.readers;
        let mut head = readers.last_head();
        if head.is_some()
            && bounds.are_short(head)
            && selection.is_exact_in_short_range()
            && let Some(waiting) = readers.short_counts()
        {
            let read = ShortRead::of(query, &selection, bounds, None);
            let sql = &self.shared.statements.extents_together;
            let found = readers.read_together(waiting, read, sql).await?;
            if let Some(found) = found.filter(|found| bounds.are_short(found.head)) {
                return Ok(found);
            }
            head = readers.last_head();
        }
        loop {
            let shape = selection.counted_shape(bounds, head);
            let sql = self.shared.statements.extent(shape);
            let rows = readers
                .rows(|| bind(sql.clone(), &selection, bounds, None))
                .await?;
            let row = rows.first().ok_or(sqlx::Error::RowNotFound);
            let extent = row::extent(row.map_err(|failed| error(&failed))?)?;
            head = extent.head;
            readers.saw_head(head);
            if shape.fits(bounds, head) {
                return Ok(extent);
            }
        }
    }

    pub(super) async fn has_any(&self, query: &Query) -> Result<bool, Error> {
        if query.is_all() {
            return Ok(self.last_position().await?.is_some());
        }
        let (types, tags) = probes(query);
        let sql = &self.shared.statements.exists;
        let rows = self
            .shared
            .readers
            .rows(|| sqlx::query(sql.clone()).bind(&types).bind(&tags))
            .await?;
        Ok(scalar(&rows)?.unwrap_or(false))
    }

    pub(super) async fn last_tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        // The server takes no text with a NUL, and none is tracked.
        if source.contains('\0') {
            return Ok(None);
        }
        let sql = &self.shared.statements.tracked;
        let rows = self
            .shared
            .primary
            .rows(|| sqlx::query(sql.clone()).bind(source))
            .await?;
        Ok(scalar::<i64>(&rows)?.map(i64::unsigned_abs))
    }

    pub(super) async fn events_by_id(&self, ids: &[Uuid]) -> Result<Vec<SequencedEvent>, Error> {
        let mut column = Column::new(Element::Uuid);
        ids.iter().for_each(|id| column.push(id.as_bytes()));
        let sql = &self.shared.statements.by_id;
        let rows = self
            .shared
            .primary
            .rows(|| sqlx::query(sql.clone()).bind(&column))
            .await?;
        rows.iter().map(row::event).collect()
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
