//! A read as a stream: page after page of one snapshot, row by row.
//!
//! The log up to a position never changes, so a snapshot is a position: every page is bounded by
//! the head that the first page saw. No transaction stays open, and a consumer that stops early has
//! made the server read one page too many at most.

use async_stream::try_stream;
use futures_core::Stream;
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::PostgresStore;
use super::error::{Failure, failure};
use super::read::{bind, check_after};
use super::row;
use super::selection::{Bounds, Selection};
use crate::{Error, EventStream, Position, Query, ReadOptions, SequencedEvent};

/// Pages grow from the first size to the last, so that who wants little does not read much.
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
        let mut items = Box::pin(self.clone().items(query.clone(), options));
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

    /// The head of the snapshot, then its events.
    fn items(
        self,
        query: Query,
        options: ReadOptions,
    ) -> impl Stream<Item = Result<Item, Error>> + Send {
        try_stream! {
            let selection = Selection::of(&query);
            let sql = self.shared.statements.read(selection.shape, options.backwards);
            let mut pages = Pages::new(options);
            loop {
                let limit = pages.limit();
                let mut connection = match self.shared.readers.acquire().await {
                    Ok(connection) => connection,
                    Err(failed) => Err(self.read_error(&failed))?,
                };
                let mut rows = bind(sql.clone(), &selection, pages.bounds, Some(limit))
                    .fetch(&mut *connection);
                let mut seen = 0;
                let mut cut = false;
                loop {
                    let row = match rows.try_next().await {
                        Ok(Some(row)) => row,
                        Ok(None) => break,
                        Err(failed) if pages.may_retry(failure(&failed), seen) => {
                            self.shared.liveness.suspect();
                            cut = true;
                            break;
                        }
                        Err(failed) => Err(self.read_error(&failed))?,
                    };
                    let head = if seen == 0 { pages.begin(row::head(&row)?)? } else { None };
                    if let Some(head) = head {
                        yield Item::Head(head);
                    }
                    let Some(event) = row::event(&row)? else { break };
                    seen += 1;
                    pages.passed(event.position());
                    yield Item::Event(event);
                }
                if !cut && seen < limit || pages.remaining == Some(0) {
                    break;
                }
                pages.grow();
            }
        }
    }
}

/// Where a stream is.
struct Pages {
    backwards: bool,
    bounds: Bounds,
    remaining: Option<i64>,
    page_rows: i64,
    /// The head of the snapshot, once it is known.
    snapshot: Option<Option<Position>>,
    retried: bool,
}

impl Pages {
    fn new(options: ReadOptions) -> Self {
        Self {
            backwards: options.backwards,
            bounds: Bounds::of(options),
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

    /// Takes in the head that a page saw: the first is the snapshot's, and is given back; a later
    /// one before it means that the log was shortened.
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

    /// Whether a page that failed is read again from where it got to: one that got somewhere before
    /// its time was over (its consumer was slow), or one whose connection was dead from the start.
    fn may_retry(&mut self, failure: Failure, seen: i64) -> bool {
        match failure {
            Failure::Cancelled => seen > 0,
            Failure::Lost => !std::mem::replace(&mut self.retried, seen == 0) && seen == 0,
            Failure::Data | Failure::Refused => false,
        }
    }

    fn grow(&mut self) {
        self.page_rows = (self.page_rows * PAGE_GROWTH).min(LAST_PAGE_ROWS);
    }
}
