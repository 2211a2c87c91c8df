//! Short reads that share a statement, where more of them wait than there are connections.
//!
//! To read a hundred events takes the server about as long as to begin and end a statement and to
//! answer it. So those who find no connection free wait in line, and the first of them who gets one
//! takes the next along. Each has its own answer, of one snapshot that is younger than every call.
//! Equal reads, as of many who decide about the same course at once, are read once.
//!
//! Events and counts have a line each.

use std::marker::PhantomData;

use sqlx::SqlStr;
use sqlx::postgres::PgRow;
use tokio::time::{Instant, timeout_at};

use super::column::{Column, Element};
use super::error::{Failure, failure};
use super::line::{Line, Taken, Turn};
use super::readers::Readers;
use super::row;
use super::selection::{Bounds, Selection, Wanted, for_each_probe};
use super::text_form::write_array;
use crate::{Error, Events, Extent, Position, Query, SequencedEvent};

/// A read, forwards, of a range that is thought to be short.
#[derive(PartialEq)]
pub(super) struct ShortRead {
    bounds: Bounds,
    limit: Option<i64>,
    /// An array literal; `None` for any type.
    types: Option<Vec<u8>>,
    tag: Option<String>,
}

impl ShortRead {
    pub(super) fn of(
        query: &Query,
        selection: &Selection<'_>,
        bounds: Bounds,
        limit: Option<i64>,
    ) -> Self {
        let tag = match selection.wanted {
            Wanted::Names { tag, .. } => tag,
            _ => None,
        };
        let mut names = Vec::new();
        for_each_probe(query, |event_type, _tags, _| names.push(event_type));
        let names: Option<Vec<&str>> = names.into_iter().collect();
        Self {
            bounds,
            limit: limit.filter(|_| selection.is_exact_in_short_range()),
            types: names.map(|names| {
                let mut literal = Vec::new();
                write_array(names.into_iter(), &mut literal);
                literal
            }),
            tag: tag.map(str::to_owned),
        }
    }
}

/// What the shared statements take, a row for each read.
struct Columns {
    above: Column,
    below: Column,
    limits: Column,
    types: Column,
    tags: Column,
}

impl Columns {
    fn of(reads: &[&ShortRead]) -> Self {
        let mut columns = Self {
            above: Column::new(Element::Int8),
            below: Column::new(Element::Int8),
            limits: Column::new(Element::Int8),
            types: Column::new(Element::Text),
            tags: Column::new(Element::Text),
        };
        for read in reads {
            columns.above.push_int8(read.bounds.above);
            columns.below.push_int8(read.bounds.below);
            columns.limits.push_optional_int8(read.limit);
            match &read.types {
                Some(types) => columns.types.push(types),
                None => columns.types.push_null(),
            }
            columns.tags.push_optional_text(read.tag.as_deref());
        }
        columns
    }
}

/// Reads that wait, to be answered by one statement.
pub(super) struct ShortReads<A: Answers>(Line<ShortRead, A::Answer>, PhantomData<A>);

impl<A: Answers> ShortReads<A> {
    pub(super) const fn new() -> Self {
        Self(Line::new(), PhantomData)
    }
}

/// What the rows of a shared statement come to.
pub(super) trait Answers {
    type Answer;

    fn of(reads: usize) -> Self;

    /// Takes a row in.
    ///
    /// # Errors
    /// Where each read had better be asked alone.
    fn take(&mut self, row: &PgRow) -> Result<(), AskAlone>;

    /// The head of the statement's snapshot.
    fn head(&self) -> Option<Position>;

    /// The answer of one read; whether it is wanted again.
    fn answer(&mut self, read: usize, again: bool) -> Self::Answer;
}

/// A row is malformed, or there are too many bytes: whoever asks alone learns his own error, or has
/// the events one by one.
pub(super) struct AskAlone;

impl From<Error> for AskAlone {
    fn from(_: Error) -> Self {
        Self
    }
}

/// Each read's events and the head; but the tags of a query with several alternatives or tags are
/// the caller's to check, and its limit to keep.
pub(super) struct EventsOfEach {
    head: Option<Option<Position>>,
    events: Vec<Vec<SequencedEvent>>,
    bytes: usize,
}

impl Answers for EventsOfEach {
    type Answer = Events;

    fn of(reads: usize) -> Self {
        Self {
            head: None,
            events: vec![Vec::new(); reads],
            bytes: 0,
        }
    }

    /// The first row has the head, each other an event.
    fn take(&mut self, row: &PgRow) -> Result<(), AskAlone> {
        /// Events are kept until the last has arrived, also for who takes them one by one.
        const MOST_BYTES: usize = 4 << 20;
        if self.head.is_none() {
            self.head = Some(row::head(row)?);
            return Ok(());
        }
        let read = row::read(row, 7, self.events.len())?;
        let event = row::event(row)?;
        self.bytes += event.size_bytes();
        if self.bytes > MOST_BYTES {
            return Err(AskAlone);
        }
        self.events[read].push(event);
        Ok(())
    }

    fn head(&self) -> Option<Position> {
        self.head.flatten()
    }

    fn answer(&mut self, read: usize, again: bool) -> Events {
        let events = if again {
            self.events[read].clone()
        } else {
            std::mem::take(&mut self.events[read])
        };
        let head = self.head();
        Events { events, head }
    }
}

/// How many events each read has, with the last of them and the head.
pub(super) struct ExtentOfEach(Vec<Extent>);

impl Answers for ExtentOfEach {
    type Answer = Extent;

    fn of(reads: usize) -> Self {
        let none = Extent {
            count: 0,
            last: None,
            head: None,
        };
        Self(vec![none; reads])
    }

    /// Each row has the extent of a read.
    fn take(&mut self, row: &PgRow) -> Result<(), AskAlone> {
        let read = row::read(row, 3, self.0.len())?;
        self.0[read] = row::extent(row)?;
        Ok(())
    }

    fn head(&self) -> Option<Position> {
        self.0.first().and_then(|extent| extent.head)
    }

    fn answer(&mut self, read: usize, _again: bool) -> Extent {
        self.0[read]
    }
}

/// The reads without their repetitions, and which of them each is.
fn distinct<A>(taken: &[Taken<ShortRead, A>]) -> (Vec<&ShortRead>, Vec<usize>) {
    let mut reads = Vec::new();
    let which = taken
        .iter()
        .map(|Taken { request, .. }| {
            let known = reads.iter().position(|read| *read == request);
            known.unwrap_or_else(|| {
                reads.push(request);
                reads.len() - 1
            })
        })
        .collect();
    (reads, which)
}

impl Readers {
    /// Waits for a connection, and reads with others that do. `None` where that came to nothing
    /// before the time was over, for whatever reason: whoever asks alone learns his own.
    pub(super) async fn read_together<A: Answers>(
        &self,
        waiting: &ShortReads<A>,
        read: ShortRead,
        statement: &SqlStr,
    ) -> Result<Option<A::Answer>, Error> {
        /// More gain little, and wait for each other's rows.
        const MOST: usize = 16;
        let deadline = self.deadline();
        let mut place = waiting.0.join(read);
        // Who leads may have been put aside by its caller.
        match timeout_at(deadline, place.turn()).await {
            Ok(Some(Turn::Lead)) => {}
            Ok(Some(Turn::Answered(answer))) => return Ok(Some(answer)),
            Ok(None) | Err(_) => return self.in_vain(deadline),
        }
        let connection = self
            .acquire_by(deadline)
            .await
            .map_err(|failed| self.error(&failed))?;
        let taken = place.take(MOST);
        let (reads, which) = distinct(&taken);
        let columns = Columns::of(&reads);
        let bound = sqlx::query(statement.clone())
            .bind(&columns.above)
            .bind(&columns.below)
            .bind(&columns.limits)
            .bind(&columns.types)
            .bind(&columns.tags);
        let mut answers = A::of(reads.len());
        let folded = self
            .fold_on(connection, bound, &mut answers, |answers, row| {
                answers.take(&row)
            })
            .await;
        match folded {
            Ok(Ok(())) => {}
            Ok(Err(AskAlone)) => return self.in_vain(deadline),
            Err(failed) => {
                if failure(&failed) == Failure::Lost {
                    self.suspect();
                }
                return self.in_vain(deadline);
            }
        }
        self.saw_head(answers.head());
        let mut own = None;
        for (index, taken) in taken.into_iter().enumerate() {
            let read = which[index];
            let again = which[index + 1..].contains(&read);
            own = own.or(taken.answer(answers.answer(read, again)));
        }
        Ok(own)
    }

    /// Who has waited for long enough does not ask again.
    fn in_vain<T>(&self, deadline: Instant) -> Result<Option<T>, Error> {
        if Instant::now() < deadline {
            Ok(None)
        } else {
            Err(self.error(&sqlx::Error::PoolTimedOut))
        }
    }
}
