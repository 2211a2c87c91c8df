//! The task that reads the pages of a stream.

use std::io::ErrorKind;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use postgres_store::{Failure, Process, Replica, failure};
use sqlx::postgres::PgRow;

use super::super::read::bind;
use super::super::readers::Readers;
use super::super::row;
use super::super::selection::{Selection, Shape};
use super::super::statements::Statements;
use super::chunks::Consumer;
use super::pages::Pages;
use crate::bounds::Bounds;
use crate::{Bookmark, Error, Query};

/// The reading side of a stream.
pub(super) struct Reading {
    pub(super) readers: Readers,
    /// The replica that the readers read from, and the readers that take over if it goes.
    pub(super) replica: Option<(Arc<Replica<Readers>>, Readers)>,
    pub(super) statements: Arc<Statements>,
    pub(super) query: Query,
    pub(super) pages: Pages,
    pub(super) consumer: Consumer,
}

/// A page that is being read.
struct Page {
    shape: Shape,
    bounds: Bounds,
    limit: i64,
    /// Whether the first row, which has the head, was read.
    begun: bool,
    /// Whether the shape answers the query up to this head. If not, no event follows, and the next
    /// page uses an index.
    fits: bool,
    /// The number of events.
    seen: i64,
}

/// How the rows of a page ended.
#[derive(PartialEq, Eq)]
enum Rows {
    /// The statement was answered to its end.
    All,
    /// Rows are left over, because the consumer or the server was slow.
    Left,
    /// The connection is dead, or its session is spoiled.
    Lost,
}

impl Reading {
    pub(super) async fn run(mut self) {
        let read = self.read().await;
        let head = read.map(|()| self.pages.head());
        self.consumer.end(head).await;
    }

    async fn read(&mut self) -> Result<(), Error> {
        let query = self.query.clone();
        let selection = Selection::new(&query);
        loop {
            let (page, rows) = self.page(&selection).await?;
            let is_complete = rows == Rows::All && page.fits;
            // A page with fewer events than its limit was the last one.
            if is_complete && page.seen < page.limit || self.pages.remaining == Some(0) {
                return Ok(());
            }
            match is_complete {
                true => self.pages.grow(),
                false => self.pages.shrink(page.seen),
            }
            // No connection is held here.
            if !self.consumer.pass_on_rest(self.pages.head()).await {
                return Ok(());
            }
        }
    }

    async fn page(&mut self, selection: &Selection<'_>) -> Result<(Page, Rows), Error> {
        let bounds = self.pages.bounds;
        let head = Bookmark::position_of(self.pages.head()).or_else(|| self.readers.last_head());
        let mut page = Page {
            shape: selection.shape(bounds, head),
            bounds,
            limit: self.pages.limit(),
            begun: false,
            fits: true,
            seen: 0,
        };
        let sql = self
            .statements
            .read(page.shape, self.pages.bounds.backwards);
        let statement = bind(sql, selection, bounds, Some(page.limit));
        // Behind a pooler a page is read as a whole. Its transaction would otherwise stay open
        // for as long as the consumer takes.
        if self.readers.are_pooled() {
            let fetched = in_time(self.replica.as_ref(), self.readers.try_rows(statement)).await;
            let mut fetched = buffered(fetched);
            let rows = self.take_rows(&mut page, None, &mut fetched).await?;
            return Ok((page, rows));
        }
        let acquired = in_time(self.replica.as_ref(), self.readers.acquire()).await;
        let mut connection = match acquired {
            Ok(connection) => connection,
            Err(failed) if self.leaves_replica(failure(&failed)) => return Ok((page, Rows::Lost)),
            Err(failed) => return Err(self.readers.error(&failed)),
        };
        let process = Some(connection.process());
        let mut arriving = statement.fetch(&mut *connection);
        let rows = self.take_rows(&mut page, process, &mut arriving).await?;
        // `arriving` borrows the connection.
        drop(arriving);
        match rows {
            Rows::All => connection.give_back(),
            // The pool reads the rest before the next use.
            Rows::Left => drop(connection),
            Rows::Lost => connection.discard(),
        }
        Ok((page, rows))
    }

    /// Passes the events of a page on as they arrive from a server process, if it is known.
    async fn take_rows(
        &mut self,
        page: &mut Page,
        process: Option<Process>,
        rows: &mut BoxStream<'_, Result<PgRow, sqlx::Error>>,
    ) -> Result<Rows, Error> {
        loop {
            // Most rows have arrived already, so most of these polls are enough.
            let row = match rows.try_next().now_or_never() {
                Some(row) => row,
                None => {
                    self.offer(page);
                    let next = self.readers.in_time(process, rows.try_next());
                    in_time(self.replica.as_ref(), next).await
                }
            };
            match row {
                Ok(Some(row)) => self.take(page, &row)?,
                Ok(None) => return Ok(Rows::All),
                Err(failed) => {
                    let failure = failure(&failed);
                    self.readers.learn(failure);
                    if self.leaves_replica(failure) {
                        return Ok(Rows::Lost);
                    }
                    if !self.pages.may_retry(failure, page.seen) {
                        return Err(self.readers.error(&failed));
                    }
                    return Ok(match failure.ends_session() {
                        true => Rows::Lost,
                        false => Rows::Left,
                    });
                }
            }
            let head = self.pages.head();
            if self.consumer.is_full() && !self.consumer.takes_in_time(head).await {
                return Ok(Rows::Left);
            }
        }
    }

    /// Goes on at the primary if the replica is gone. Its events have the same positions there.
    fn leaves_replica(&mut self, failure: Failure) -> bool {
        match self.replica.take_if(|_| failure == Failure::Lost) {
            Some((replica, primary)) => {
                replica.give_up();
                self.readers = primary;
                true
            }
            None => false,
        }
    }

    /// Handles a row: the head, or an event.
    fn take(&mut self, page: &mut Page, row: &PgRow) -> Result<(), Error> {
        if !std::mem::replace(&mut page.begun, true) {
            let heading = row::heading(row, 0)?;
            let head = Bookmark::position_of(heading.head);
            self.readers.observe_head(head);
            page.fits = page.shape.fits(page.bounds, head);
            return self.pages.begin(heading);
        }
        let event = row::event(row)?;
        // An inexact page has no LIMIT. Read its unwanted rows too, so that the connection can be
        // given back.
        let is_wanted =
            page.shape.is_exact() || self.pages.remaining != Some(0) && self.query.matches(&event);
        if is_wanted {
            page.seen += 1;
            self.pages.passed(event.bookmark());
            self.consumer.push(event);
        }
        Ok(())
    }

    /// Passes on the events so far while the server works.
    fn offer(&mut self, page: &Page) {
        if page.begun {
            self.consumer.offer(self.pages.head());
        }
    }
}

/// An answer of the replica, or an error once the replica is gone.
async fn in_time<T>(
    replica: Option<&(Arc<Replica<Readers>>, Readers)>,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match replica {
        None => answer.await,
        Some((replica, _)) => {
            let answer = replica.answer(answer).await;
            answer.unwrap_or_else(|| Err(std::io::Error::from(ErrorKind::TimedOut).into()))
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
