//! Streams: a stream reads a snapshot of the log in pages, and yields the events row by row.
//!
//! Invariant: all pages of a stream show the same snapshot. No transaction has to stay open between
//! pages, because the events up to a position never change. The first page sees the head of the
//! log, and no page reads beyond that position. Only `clear` changes earlier events: a stream whose
//! next page finds a lower head ends with [`Error::AfterBeyondHead`]. Tested by the conformance
//! suite (`suite.rs`), `reads.rs` and `clearing.rs`.
//!
//! If a consumer stops early, the server has read at most one page too many.

use std::sync::Arc;

use async_stream::try_stream;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use postgres_store::{Failure, failure};
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::read::{bind, check_after};
use super::readers::Readers;
use super::row;
use super::selection::{Bounds, Selection};
use super::statements::Statements;
use crate::{Error, EventStream, Events, Position, Query, ReadOptions, SequencedEvent};

// Pages grow, so that a consumer of a few events does not make the server read thousands.
const FIRST_PAGE_ROWS: i64 = 256;
const LAST_PAGE_ROWS: i64 = 8192;
const PAGE_GROWTH: i64 = 8;

enum Item {
    Head(Option<Position>),
    Event(SequencedEvent),
}

impl PostgresStore {
    pub(super) async fn stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        match self.stream_from(&self.shared.readers, query, options).await {
            Err(Error::AfterBeyondHead { .. }) if self.shared.reads_a_replica() => {
                self.stream_from(&self.shared.primary, query, options).await
            }
            stream => stream,
        }
    }

    async fn stream_from(
        &self,
        readers: &Readers,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        match self.read_coalesced(readers, query, options).await {
            Ok(Some(Events { events, head })) => {
                return Ok(EventStream::new(head, stream::iter(events).map(Ok)));
            }
            Ok(None) => {}
            // The first page below reads again, on another connection.
            Err(failed) if failed.is_transient() => {}
            Err(failed) => return Err(failed),
        }
        let statements = Arc::clone(&self.shared.statements);
        let items = items(readers.clone(), statements, query.clone(), options);
        let mut items = Box::pin(items);
        let head = match items.next().await {
            Some(Ok(Item::Head(head))) => head,
            Some(Err(error)) => return Err(error),
            Some(Ok(Item::Event(_))) | None => None,
        };
        check_after(options, head)?;
        let events = items.filter_map(|item| {
            std::future::ready(match item {
                Ok(Item::Event(event)) => Some(Ok(event)),
                Ok(Item::Head(_)) => None,
                Err(error) => Some(Err(error)),
            })
        });
        Ok(EventStream::new(head, events))
    }
}

/// Yields the head of the snapshot, then its events.
fn items(
    readers: Readers,
    statements: Arc<Statements>,
    query: Query,
    options: ReadOptions,
) -> impl Stream<Item = Result<Item, Error>> + Send {
    try_stream! {
        let selection = Selection::new(&query);
        let mut pages = Pages::new(options);
        let mut head = readers.last_head();
        loop {
            let limit = pages.limit();
            let bounds = pages.bounds;
            let shape = selection.shape(bounds, head);
            let sql = statements.read(shape, options.backwards);
            let statement = bind(sql, &selection, bounds, Some(limit));
            let mut connection = None;
            // Behind a pooler a page is read as a whole. Its transaction would otherwise stay open
            // for as long as the consumer takes.
            let mut rows: BoxStream<'_, Result<PgRow, sqlx::Error>> = if readers.are_pooled() {
                buffered(readers.try_rows(statement).await)
            } else {
                match readers.acquire().await {
                    Ok(acquired) => statement.fetch(&mut **connection.insert(acquired)),
                    Err(failed) => Err(readers.error(&failed))?,
                }
            };
            let mut seen = 0;
            let mut begun = false;
            // Only a connection whose statement has been answered to its end can be given back.
            let mut ended = false;
            // After an incomplete page, the next page goes on behind the last event that was
            // yielded. `lost` tells whether the page's connection is dead.
            let (mut incomplete, mut lost) = (false, false);
            loop {
                let row = match readers.in_time(rows.try_next()).await {
                    Ok(Some(row)) => row,
                    Ok(None) => {
                        ended = true;
                        break;
                    }
                    Err(failed) => {
                        let failure = failure(&failed);
                        readers.learn(failure);
                        if !pages.may_retry(failure, seen) {
                            Err(readers.error(&failed))?;
                        }
                        lost = failure.ends_session();
                        incomplete = true;
                        break;
                    }
                };
                if !std::mem::replace(&mut begun, true) {
                    head = row::head(&row)?;
                    readers.observe_head(head);
                    // If the shape doesn't fit, no event follows, and the next page uses the index.
                    incomplete = !shape.fits(bounds, head);
                    if let Some(head) = pages.begin(head)? {
                        yield Item::Head(head);
                    }
                    continue;
                }
                let event = row::event(&row)?;
                // An inexact page has no LIMIT. Read its unwanted rows too, so that the connection
                // can be given back.
                if !shape.is_exact() && (pages.remaining == Some(0) || !query.matches(&event)) {
                    continue;
                }
                seen += 1;
                pages.passed(event.position());
                yield Item::Event(event);
            }
            // `rows` borrows the connection.
            drop(rows);
            match connection {
                Some(connection) if ended => connection.give_back(),
                Some(connection) if lost => connection.discard(),
                _ => {}
            }
            // A page with fewer events than its limit was the last one.
            if !incomplete && seen < limit || pages.remaining == Some(0) {
                break;
            }
            if !incomplete {
                pages.grow();
            }
        }
    }
}

/// A page that was fetched as a whole.
fn buffered(
    page: Result<Vec<PgRow>, sqlx::Error>,
) -> BoxStream<'static, Result<PgRow, sqlx::Error>> {
    match page {
        Ok(rows) => stream::iter(rows.into_iter().map(Ok)).boxed(),
        Err(failed) => stream::iter([Err(failed)]).boxed(),
    }
}

/// The progress of a stream.
struct Pages {
    backwards: bool,
    bounds: Bounds,
    remaining: Option<i64>,
    page_rows: i64,
    /// The head of the snapshot: `None` before the first page, `Some(None)` if the log is empty.
    snapshot: Option<Option<Position>>,
    /// Whether a dead connection has used up its one retry.
    retried: bool,
}

impl Pages {
    fn new(options: ReadOptions) -> Self {
        Self {
            backwards: options.backwards,
            bounds: Bounds::new(options),
            remaining: options
                .limit
                .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            page_rows: FIRST_PAGE_ROWS,
            snapshot: None,
            retried: false,
        }
    }

    fn limit(&self) -> i64 {
        self.remaining
            .map_or(self.page_rows, |remaining| remaining.min(self.page_rows))
    }

    /// Handles the head that a page saw. The first page defines the snapshot and gets its head
    /// back. A later head below the snapshot's means that the log was cleared.
    fn begin(&mut self, head: Option<Position>) -> Result<Option<Option<Position>>, Error> {
        match self.snapshot {
            None => {
                self.snapshot = Some(head);
                let end = Position::number_or_zero(head).saturating_add(1);
                self.bounds.below = self
                    .bounds
                    .below
                    .min(i64::try_from(end).unwrap_or(i64::MAX));
                Ok(Some(head))
            }
            Some(Some(after)) if head < Some(after) => Err(Error::AfterBeyondHead { after, head }),
            Some(_) => Ok(None),
        }
    }

    fn passed(&mut self, position: Position) {
        let position = i64::try_from(position.get()).unwrap_or(i64::MAX);
        if self.backwards {
            self.bounds.below = position;
        } else {
            self.bounds.above = position;
        }
        self.remaining = self.remaining.map(|remaining| remaining - 1);
    }

    /// Whether to continue a failed page on another connection. Yes if the page timed out after
    /// some events, because then its consumer was slow; and once if its connection was dead, or its
    /// session spoiled, before the first event.
    fn may_retry(&mut self, failure: Failure, seen: i64) -> bool {
        match failure {
            Failure::Cancelled => seen > 0,
            Failure::Lost | Failure::ReadOnly | Failure::Session => {
                !std::mem::replace(&mut self.retried, seen == 0) && seen == 0
            }
            Failure::NotSent | Failure::Data | Failure::Deadlock | Failure::Refused => false,
        }
    }

    fn grow(&mut self) {
        self.page_rows = (self.page_rows * PAGE_GROWTH).min(LAST_PAGE_ROWS);
    }
}
