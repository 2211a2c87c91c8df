//! Reads. Each is one statement on one of the readers' connections.
//!
//! If a range is short, judging by the head seen last, the statement scans it by position instead
//! of searching the index on tags or types.
//!
//! Invariant: the head seen last only decides between that scan and an index. Every answer carries
//! the head of the statement's snapshot. If that head makes the range long, the answer has no
//! events, and the read runs again by index. Tested by `short_ranges.rs`.
//!
//! With a replica, reads go to the replica and are as old as the replica is. A read whose `after`
//! is beyond the replica's head goes to the primary. So do the reads that appends depend on: events
//! by id, and tracked positions. Tested by `replica.rs`.

use postgres_store::{Bound, Column, Element};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, Row as _, SqlStr};
use uuid::Uuid;

use super::PostgresStore;
use super::error::error;
use super::readers::Readers;
use super::row;
use super::selection::{Bounds, Selection, Shape, Wanted, probes};
use super::shared_read::ShortRead;
use crate::extent::Span;
use crate::{Error, Events, Extent, Position, Query, ReadOptions, SequencedEvent};

/// Binds the parameters of [`super::statements::Statements::read`].
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

fn max_events(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// The rows of a read so far.
struct Answer {
    /// `None` before the first row, which has the head; `Some(None)` if the log is empty.
    head: Option<Option<Position>>,
    events: Vec<SequencedEvent>,
    limit: usize,
}

impl Answer {
    fn new(limit: Option<u64>) -> Self {
        Self {
            head: None,
            events: Vec::new(),
            limit: max_events(limit),
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
        let selection = Selection::new(query);
        let limit = options
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let bounds = Bounds::new(options);
        if let Some(found) = self.read_shared(readers, query, options).await? {
            return Ok(found);
        }
        let mut head = readers.last_head();
        loop {
            let shape = selection.shape(bounds, head);
            let sql = self.shared.statements.read(shape, options.backwards);
            let answer = readers
                .fold(
                    || bind(sql.clone(), &selection, bounds, limit),
                    || Answer::new(options.limit),
                    |answer, row| {
                        // The first row is the head; see `Statements::read`.
                        match answer.head {
                            None => answer.head = Some(row::head(&row)?),
                            Some(_) => answer.take(shape, query, row::event(&row)?),
                        }
                        Ok(())
                    },
                )
                .await?;
            head = answer.head.flatten();
            readers.observe_head(head);
            if !shape.fits(bounds, head) {
                // The log has grown, and the range is long now. With the new head `shape` chooses
                // an index, which fits any range, so this repeats at most once.
                continue;
            }
            check_after(options, head)?;
            return Ok(Events {
                events: answer.events,
                head,
            });
        }
    }

    /// Reads a range that is probably short in a shared statement. Returns `None` if the caller has
    /// to read alone: the range is not short, a connection is free, or the shared statement failed.
    pub(super) async fn read_shared(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Option<Events>, Error> {
        let (bounds, head) = (Bounds::new(options), readers.last_head());
        // Without a known head the length of an open range is unknown.
        if options.backwards || head.is_none() || !bounds.are_short(head) {
            return Ok(None);
        }
        let Some(waiting) = readers.short_reads() else {
            return Ok(None);
        };
        let selection = Selection::new(query);
        let limit = options
            .limit
            .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let read = ShortRead::new(query, &selection, bounds, limit);
        let sql = &self.shared.statements.read_together;
        let found = readers.read_together(waiting, read, sql).await?;
        let Some(mut found) = found.filter(|found| bounds.are_short(found.head)) else {
            return Ok(None);
        };
        check_after(options, found.head)?;
        if !selection.is_exact_in_short_range() {
            found.events.retain(|event| query.matches(event));
            found.events.truncate(max_events(options.limit));
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
        self.shared.readers.observe_head(head);
        Ok(head)
    }

    pub(super) async fn extent_of(&self, query: &Query, span: Span) -> Result<Extent, Error> {
        if query.is_all() {
            return Ok(Extent::of_all(self.last_position().await?, span));
        }
        let selection = Selection::new(query);
        let bounds = Bounds::within(span);
        let readers = &self.shared.readers;
        let mut head = readers.last_head();
        if head.is_some()
            && bounds.are_short(head)
            && selection.is_exact_in_short_range()
            && let Some(waiting) = readers.short_counts()
        {
            let read = ShortRead::new(query, &selection, bounds, None);
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
            readers.observe_head(head);
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
        // PostgreSQL refuses text with a NUL, so no such source can be tracked.
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
