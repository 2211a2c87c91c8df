//! Short reads that share a statement when no connection is free.
//!
//! The server spends about as much time to start, answer and end a statement as to read a hundred
//! events. So short reads that find no connection free wait in a queue. The first one to get a
//! connection reads for the next ones too, in one statement. Identical reads that arrive together
//! run once. Events and counts have separate queues.
//!
//! Invariants:
//!
//! - A shared statement only serves calls that began before it was sent, so each caller gets a
//!   snapshot newer than its call.
//! - No caller gets the error of a shared statement. If the statement fails, each of its callers
//!   reads alone.
//!
//! Tested by `short_reads.rs`.

use std::marker::PhantomData;

use postgres_store::{Column, Element, Failure, failure};
use sqlx::SqlStr;
use sqlx::postgres::PgRow;
use tokio::time::{Instant, timeout_at};

use super::readers::Readers;
use super::row;
use super::selection::{Bounds, Selection, Wanted, for_each_probe};
use super::text_form::write_array;
use super::wait_queue::{Claimed, Role, WaitQueue};
use crate::{Error, Events, Extent, Position, Query, SequencedEvent};

/// A forward read of a range that is probably short.
#[derive(PartialEq)]
pub(super) struct ShortRead {
    bounds: Bounds,
    limit: Option<i64>,
    /// The types as an array literal; `None` for any type.
    types: Option<Vec<u8>>,
    tag: Option<String>,
}

impl ShortRead {
    pub(super) fn new(
        query: &Query,
        selection: &Selection<'_>,
        bounds: Bounds,
        limit: Option<i64>,
    ) -> Self {
        // Several tags or alternatives don't fit in a row of the statement: the caller checks them.
        let tag = match selection.wanted {
            Wanted::Names { tag, .. } => tag,
            _ => None,
        };
        let mut names = Vec::new();
        for_each_probe(query, |event_type, _tags, _| names.push(event_type));
        let names: Option<Vec<&str>> = names.into_iter().collect();
        Self {
            bounds,
            // The limit counts wanted events. The server can't count them if the caller checks
            // tags.
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

/// The parameters of a shared statement, a row per read.
struct Columns {
    above: Column,
    below: Column,
    limits: Column,
    types: Column,
    tags: Column,
}

impl Columns {
    fn new(reads: &[&ShortRead]) -> Self {
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

/// The short reads that wait for a connection.
pub(super) struct SharedReads<A: Answers>(WaitQueue<ShortRead, A::Answer>, PhantomData<A>);

impl<A: Answers> SharedReads<A> {
    pub(super) const fn new() -> Self {
        Self(WaitQueue::new(), PhantomData)
    }
}

/// Collects the rows of a shared statement into an answer per read.
pub(super) trait Answers {
    type Answer;

    fn new(reads: usize) -> Self;

    /// Adds a row.
    ///
    /// # Errors
    /// [`ReadAlone`] if the statement can't serve all of its reads.
    fn take(&mut self, row: &PgRow) -> Result<(), ReadAlone>;

    /// The head of the statement's snapshot.
    fn head(&self) -> Option<Position>;

    /// The answer of one read. `wanted_again` is true if another caller gets the same answer.
    fn answer(&mut self, read: usize, wanted_again: bool) -> Self::Answer;
}

/// A row is malformed, or the answer has too many bytes. Each caller then reads alone, where it
/// gets its own error or can take the events one by one.
pub(super) struct ReadAlone;

impl From<Error> for ReadAlone {
    fn from(_: Error) -> Self {
        Self
    }
}

/// The events of each read, and the head. For a query with several alternatives or tags, the caller
/// has to check the tags and apply the limit.
pub(super) struct EventsOfEach {
    head: Option<Option<Position>>,
    events: Vec<Vec<SequencedEvent>>,
    bytes: usize,
}

impl Answers for EventsOfEach {
    type Answer = Events;

    fn new(reads: usize) -> Self {
        Self {
            head: None,
            events: vec![Vec::new(); reads],
            bytes: 0,
        }
    }

    /// The first row has the head, each further row an event.
    fn take(&mut self, row: &PgRow) -> Result<(), ReadAlone> {
        /// The answers are held in memory until the last row arrives, even for a stream.
        const MAX_BYTES: usize = 4 << 20;
        if self.head.is_none() {
            self.head = Some(row::head(row)?);
            return Ok(());
        }
        let read = row::read(row, 7, self.events.len())?;
        let event = row::event(row)?;
        self.bytes += event.size_bytes();
        if self.bytes > MAX_BYTES {
            return Err(ReadAlone);
        }
        self.events[read].push(event);
        Ok(())
    }

    fn head(&self) -> Option<Position> {
        self.head.flatten()
    }

    fn answer(&mut self, read: usize, wanted_again: bool) -> Events {
        let events = if wanted_again {
            self.events[read].clone()
        } else {
            std::mem::take(&mut self.events[read])
        };
        let head = self.head();
        Events { events, head }
    }
}

/// The number of events of each read, the last of them, and the head.
pub(super) struct ExtentOfEach(Vec<Extent>);

impl Answers for ExtentOfEach {
    type Answer = Extent;

    fn new(reads: usize) -> Self {
        let none = Extent {
            count: 0,
            last: None,
            head: None,
        };
        Self(vec![none; reads])
    }

    /// Each row is the extent of one read.
    fn take(&mut self, row: &PgRow) -> Result<(), ReadAlone> {
        let read = row::read(row, 3, self.0.len())?;
        self.0[read] = row::extent(row)?;
        Ok(())
    }

    fn head(&self) -> Option<Position> {
        self.0.first().and_then(|extent| extent.head)
    }

    fn answer(&mut self, read: usize, _wanted_again: bool) -> Extent {
        self.0[read]
    }
}

/// The distinct reads, and for each claimed request the index of its read.
fn distinct<A>(claimed: &[Claimed<ShortRead, A>]) -> (Vec<&ShortRead>, Vec<usize>) {
    let mut reads = Vec::new();
    let read_of_request = claimed
        .iter()
        .map(|Claimed { request, .. }| {
            let known = reads.iter().position(|read| *read == request);
            known.unwrap_or_else(|| {
                reads.push(request);
                reads.len() - 1
            })
        })
        .collect();
    (reads, read_of_request)
}

impl Readers {
    /// Waits for a connection together with other short reads. Returns `None` if the shared read
    /// failed; the caller then reads alone and gets its own error.
    ///
    /// # Errors
    /// A timeout if the caller has waited for its whole query timeout; [`Error::Unavailable`] or
    /// [`Error::Closed`] if the caller leads and gets no connection.
    pub(super) async fn read_together<A: Answers>(
        &self,
        waiting: &SharedReads<A>,
        read: ShortRead,
        statement: &SqlStr,
    ) -> Result<Option<A::Answer>, Error> {
        /// Larger batches gain little, and each read waits for the rows of the others.
        const MAX_READS: usize = 16;
        let deadline = self.deadline();
        let mut ticket = waiting.0.join(read);
        // The timeout matters for followers too: a leader makes no progress while its caller does
        // not poll it.
        match timeout_at(deadline, ticket.role()).await {
            Ok(Some(Role::Leader)) => {}
            Ok(Some(Role::Served(answer))) => return Ok(Some(answer)),
            Ok(None) | Err(_) => return self.fall_back(deadline),
        }
        let connection = self
            .acquire_by(deadline)
            .await
            .map_err(|failed| self.error(&failed))?;
        // Take the batch only now, with a connection in hand, so that calls that arrived during the
        // wait join it.
        let claimed = ticket.take_batch(MAX_READS);
        let (reads, read_of_request) = distinct(&claimed);
        let columns = Columns::new(&reads);
        let bound = sqlx::query(statement.clone())
            .bind(&columns.above)
            .bind(&columns.below)
            .bind(&columns.limits)
            .bind(&columns.types)
            .bind(&columns.tags);
        let mut answers = A::new(reads.len());
        let folded = self
            .fold_on(connection, bound, &mut answers, |answers, row| {
                answers.take(&row)
            })
            .await;
        match folded {
            Ok(Ok(())) => {}
            Ok(Err(ReadAlone)) => return self.fall_back(deadline),
            Err(failed) => {
                if failure(&failed) == Failure::Lost {
                    self.mark_stale();
                }
                return self.fall_back(deadline);
            }
        }
        self.observe_head(answers.head());
        let mut leaders_answer = None;
        for (index, claimed) in claimed.into_iter().enumerate() {
            let read = read_of_request[index];
            let wanted_again = read_of_request[index + 1..].contains(&read);
            leaders_answer = leaders_answer.or(claimed.answer(answers.answer(read, wanted_again)));
        }
        Ok(leaders_answer)
    }

    /// Returns `None`, so that the caller reads alone, or an error if the caller's time is over.
    fn fall_back<T>(&self, deadline: Instant) -> Result<Option<T>, Error> {
        if Instant::now() < deadline {
            Ok(None)
        } else {
            Err(self.error(&sqlx::Error::PoolTimedOut))
        }
    }
}
