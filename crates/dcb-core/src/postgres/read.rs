//! Reads. Each is one statement on one of the readers' connections.
//!
//! If a range is short, judging by the head seen last, the statement scans it by position instead
//! of searching the index on tags or types.
//!
//! Invariant: the head seen last only decides between that scan and an index. Every answer carries
//! the head of the statement's snapshot. If that head makes the range long, the answer has no
//! events, and the read runs again by index. Tested by `short_ranges.rs`.
//!
//! With replicas, reads go to one of them and are as old as that replica is. A read whose `after`
//! is beyond the replica's head goes to the primary, and so does one that the replica does not answer. So do the reads that appends depend on: events
//! by id, and tracked positions. Tested by `replica.rs`.

use std::sync::Arc;

use postgres_store::{Bound, Column, Element, Lease};
use sqlx::postgres::PgRow;
use sqlx::{Postgres, Row as _, SqlStr};
use uuid::Uuid;

use super::PostgresStore;
use super::answer::{Answer, Found, MAX_BYTES, limit};
use super::error::error;
use super::readers::Readers;
use super::row;
use super::selection::{Selection, Wanted, probes};
use super::shared_read::read_together;
use super::statements::Statements;
use crate::bounds::Bounds;
use crate::extent::Span;
use crate::{
    Bookmark, Error, Events, Extent, Position, Query, ReadOptions, SequencedEvent, Tracking,
};

/// Binds the parameters of [`super::statements::Statements::read`].
pub(super) fn bind(
    sql: SqlStr,
    selection: &Selection<'_>,
    bounds: Bounds,
    limit: Option<i64>,
) -> Bound<'static> {
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

/// A read of nothing that checks `after`, if the read itself does not look there because its `from`
/// is further.
fn hidden_after(options: ReadOptions) -> Option<ReadOptions> {
    options.after?.event_id?;
    let only = ReadOptions {
        from: None,
        limit: Some(0),
        ..options
    };
    (Bounds::of(only) != Bounds::of(options)).then_some(only)
}

/// Whether the range is short, judging by the head seen last. Without one the length of an open
/// range is unknown.
fn is_short(bounds: Bounds, head: Option<Position>) -> bool {
    head.is_some() && bounds.are_short(head)
}

/// Reads a short range in one statement on this connection. `None` if the statement fails, if the
/// range turns out to be long, or if the events take too much memory.
async fn read_once(
    readers: &Readers,
    statements: &Statements,
    connection: Lease,
    query: &Query,
    options: ReadOptions,
) -> Option<Found> {
    let (selection, bounds) = (Selection::new(query), Bounds::of(options));
    let shape = selection.shape(bounds, readers.last_head());
    let sql = statements.read(shape, options.backwards);
    let statement = bind(sql, &selection, bounds, limit(options));
    let filter = (!shape.is_exact()).then_some(query);
    let start = Answer::new(options.limit);
    let answer = readers
        .try_fold_on(connection, statement, start, |answer, row| {
            answer.take(filter, &row).ok()?;
            (answer.size_bytes <= MAX_BYTES).then_some(())
        })
        .await?;
    readers.found_by_short_read(answer, options)
}

/// Counts the events of a short range in one statement on this connection. `None` if the statement
/// fails, or if the range turns out to be long.
async fn count_once(
    readers: &Readers,
    statements: &Statements,
    connection: Lease,
    query: &Query,
    span: Span,
) -> Option<Extent> {
    let (selection, bounds) = (Selection::new(query), Bounds::within(span));
    let shape = selection.counted_shape(bounds, readers.last_head());
    let statement = bind(statements.extent(shape), &selection, bounds, None);
    let extent = readers
        .try_fold_on(connection, statement, None, |extent, row| {
            *extent = Some(row::extent(&row).ok()?);
            Some(())
        })
        .await??;
    let head = Bookmark::position_of(extent.head);
    readers.observe_head(head);
    bounds.are_short(head).then_some(extent)
}

impl PostgresStore {
    pub(super) async fn read(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        let read = |readers| async move {
            self.check_hidden_after(readers, query, options).await?;
            self.read_from(readers, query, options).await
        };
        self.shared.readers.read(read).await
    }

    /// Checks `after` if the read itself does not look there, because its `from` is further.
    pub(super) async fn check_hidden_after(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<(), Error> {
        if let Some(check) = hidden_after(options) {
            // Boxed, because it is rare, and as large as the read.
            Box::pin(self.read_from(readers, query, check)).await?;
        }
        Ok(())
    }

    async fn read_from(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Events, Error> {
        let selection = Selection::new(query);
        let bounds = Bounds::of(options);
        if let Some(found) = self.read_coalesced(readers, query, options).await? {
            return Ok(found);
        }
        let mut head = readers.last_head();
        loop {
            let shape = selection.shape(bounds, head);
            let sql = self.shared.statements.read(shape, options.backwards);
            let filter = (!shape.is_exact()).then(|| Arc::new(query.clone()));
            let answer = readers
                .fold(
                    || bind(sql.clone(), &selection, bounds, limit(options)),
                    || Answer::new(options.limit),
                    move |answer: &mut Answer, row| answer.take(filter.as_deref(), &row),
                )
                .await?;
            let found = answer.found().ok_or(sqlx::Error::RowNotFound);
            let found = found.map_err(|failed| error(&failed))?;
            head = Bookmark::position_of(found.events.head);
            readers.observe_head(head);
            if !shape.fits(bounds, head) {
                // The log has grown, and the range is long now. With the new head `shape` chooses
                // an index, which fits any range, so this repeats at most once.
                continue;
            }
            return found.checked(options);
        }
    }

    /// Reads a range that is probably short, together with other such reads that wait for a
    /// connection. Returns `None` if the caller has to read alone: the range is not short, a
    /// connection is idle, or the shared read came to no answer.
    pub(super) async fn read_coalesced(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Option<Events>, Error> {
        if !readers.are_busy() || !is_short(Bounds::of(options), readers.last_head()) {
            return Ok(None);
        }
        let statements = Arc::clone(&self.shared.statements);
        let waiting = match options.backwards {
            true => &readers.short_backward_reads,
            false => &readers.short_reads,
        };
        let found = readers
            .coalesce(
                waiting,
                (query.clone(), options),
                |readers, connection, reads| async move {
                    if let [read] = reads.as_slice() {
                        let (query, options) = &**read;
                        let found = read_once(&readers, &statements, connection, query, *options);
                        return vec![found.await];
                    }
                    read_together(&readers, &statements, connection, &reads).await
                },
            )
            .await?;
        found.map(|found| found.checked(options)).transpose()
    }

    pub(super) async fn last_event(&self) -> Result<Option<Bookmark>, Error> {
        self.shared
            .readers
            .read(|readers| self.head_of(readers))
            .await
    }

    pub(super) async fn head_of(&self, readers: &Readers) -> Result<Option<Bookmark>, Error> {
        let rows = readers
            .rows(|| sqlx::query(self.shared.statements.head.clone()))
            .await?;
        // No row if the log is empty.
        let head = rows.first().map(|row| row::bookmark(row, 0)).transpose()?;
        let head = head.flatten();
        readers.observe_head(Bookmark::position_of(head));
        Ok(head)
    }

    pub(super) async fn extent_of(&self, query: &Query, span: Span) -> Result<Extent, Error> {
        if query.is_all() {
            return self.extent_of_all(span).await;
        }
        self.shared
            .readers
            .read(|readers| self.extent_from(readers, query, span))
            .await
    }

    async fn extent_from(
        &self,
        readers: &Readers,
        query: &Query,
        span: Span,
    ) -> Result<Extent, Error> {
        let selection = Selection::new(query);
        let bounds = Bounds::within(span);
        if readers.are_busy() && is_short(bounds, readers.last_head()) {
            let statements = Arc::clone(&self.shared.statements);
            let found = readers
                .coalesce(
                    &readers.short_counts,
                    (query.clone(), span),
                    |readers, connection, counts| async move {
                        let (query, span) = &*counts[0];
                        vec![count_once(&readers, &statements, connection, query, *span).await]
                    },
                )
                .await?;
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let mut head = readers.last_head();
        loop {
            let shape = selection.counted_shape(bounds, head);
            let sql = self.shared.statements.extent(shape);
            let rows = readers
                .rows(|| bind(sql.clone(), &selection, bounds, None))
                .await?;
            let row = rows.first().ok_or(sqlx::Error::RowNotFound);
            let extent = row::extent(row.map_err(|failed| error(&failed))?)?;
            head = Bookmark::position_of(extent.head);
            readers.observe_head(head);
            if shape.fits(bounds, head) {
                return Ok(extent);
            }
        }
    }

    async fn extent_of_all(&self, span: Span) -> Result<Extent, Error> {
        self.shared
            .readers
            .read(|readers| self.extent_of_all_from(readers, span))
            .await
    }

    async fn extent_of_all_from(&self, readers: &Readers, span: Span) -> Result<Extent, Error> {
        let through = i64::try_from(span.last).unwrap_or(i64::MAX);
        let sql = &self.shared.statements.last;
        let rows = readers
            .rows(|| sqlx::query(sql.clone()).bind(through))
            .await?;
        // No row if the log is empty.
        let Some(row) = rows.first() else {
            return Ok(Extent::of_all(None, None, span));
        };
        let (last, head) = (row::bookmark(row, 0)?, row::bookmark(row, 2)?);
        readers.observe_head(Bookmark::position_of(head));
        Ok(Extent::of_all(last, head, span))
    }

    pub(super) async fn has_any(&self, query: &Query) -> Result<bool, Error> {
        if query.is_all() {
            return Ok(self.last_event().await?.is_some());
        }
        let (types, tags) = probes(query);
        let sql = &self.shared.statements.exists;
        let statement = || sqlx::query(sql.clone()).bind(&types).bind(&tags);
        let rows = self
            .shared
            .readers
            .read(|readers| readers.rows(statement))
            .await?;
        Ok(scalar(&rows)?.unwrap_or(false))
    }

    pub(super) async fn last_tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        // PostgreSQL refuses text with a NUL, so no such source can be tracked.
        if source.contains('\0') {
            return Ok(None);
        }
        let sql = &self.shared.statements.tracked;
        let statement = || sqlx::query(sql.clone()).bind(source);
        let readers = &self.shared.readers;
        let rows = readers
            .on_primary(|readers| readers.rows(statement))
            .await?;
        Ok(scalar::<i64>(&rows)?.map(i64::unsigned_abs))
    }

    pub(super) async fn tracked_sources(&self) -> Result<Vec<Tracking>, Error> {
        let statement = || sqlx::query(self.shared.statements.all_tracked.clone());
        let readers = &self.shared.readers;
        let rows = readers
            .on_primary(|readers| readers.rows(statement))
            .await?;
        rows.iter().map(row::tracking).collect()
    }

    pub(super) async fn events_by_id(&self, ids: &[Uuid]) -> Result<Vec<SequencedEvent>, Error> {
        let mut column = Column::new(Element::Uuid);
        ids.iter().for_each(|id| column.push(id.as_bytes()));
        let sql = &self.shared.statements.by_id;
        let statement = || sqlx::query(sql.clone()).bind(&column);
        let readers = &self.shared.readers;
        let rows = readers
            .on_primary(|readers| readers.rows(statement))
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
