//! Short reads that share a statement, where more of them wait than there are connections.
//!
//! To read a hundred events takes the server about as long as to begin and end a statement and to
//! answer it. So those who find no connection free wait in line, and the first of them who gets one
//! takes the next along. Each has its own answer, of one snapshot that is younger than every call.
//! Equal reads, as of many who decide about the same course at once, are read once.

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
use crate::{Error, Events, Position, Query, SequencedEvent};

/// A read, forwards, of a range that is thought to be short.
#[derive(PartialEq)]
pub(super) struct ShortRead {
    bounds: Bounds,
    limit: Option<i64>,
    /// An array literal; `None` for any type.
    types: Option<Vec<u8>>,
    tag: Option<String>,
}

/// Each is answered with the events of its query and the head of the snapshot; but the tags of a
/// query with several alternatives or tags are the caller's to check, and its limit to keep.
pub(super) type ShortReads = Line<ShortRead, Events>;

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
        for_each_probe(query, |event_type, _tags| names.push(event_type));
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

/// What [`super::statements::Statements::read_together`] takes, a row for each read.
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

/// The reads without their repetitions, and which of them each is.
fn distinct(taken: &[Taken<ShortRead, Events>]) -> (Vec<&ShortRead>, Vec<usize>) {
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

/// What a statement has answered so far: the head, then each read's events.
struct Answers {
    head: Option<Option<Position>>,
    events: Vec<Vec<SequencedEvent>>,
}

impl Answers {
    fn take(&mut self, row: &PgRow) -> Result<(), Error> {
        if self.head.is_none() {
            self.head = Some(row::head(row)?);
            return Ok(());
        }
        let read = row::read(row, self.events.len())?;
        self.events[read].push(row::event(row)?);
        Ok(())
    }
}

impl Readers {
    /// Waits for a connection, and reads with others that do. `None` where that came to nothing
    /// before the time was over, for whatever reason: whoever asks alone learns his own.
    pub(super) async fn read_together(
        &self,
        line: &ShortReads,
        read: ShortRead,
        statement: &SqlStr,
    ) -> Result<Option<Events>, Error> {
        /// More gain little, and wait for each other's rows.
        const MOST: usize = 16;
        let deadline = self.deadline();
        let mut place = line.join(read);
        // Who leads may have been put aside by its caller.
        match timeout_at(deadline, place.turn()).await {
            Ok(Some(Turn::Lead)) => {}
            Ok(Some(Turn::Answered(events))) => return Ok(Some(events)),
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
        let mut answers = Answers {
            head: None,
            events: vec![Vec::new(); reads.len()],
        };
        let folded = self
            .fold_on(connection, bound, &mut answers, |answers, row| {
                answers.take(&row)
            })
            .await;
        match folded {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return self.in_vain(deadline),
            Err(failed) => {
                if failure(&failed) == Failure::Lost {
                    self.suspect();
                }
                return self.in_vain(deadline);
            }
        }
        let head = answers.head.flatten();
        self.saw_head(head);
        let mut own = None;
        for (index, taken) in taken.into_iter().enumerate() {
            let read = which[index];
            let events = if which[index + 1..].contains(&read) {
                answers.events[read].clone()
            } else {
                std::mem::take(&mut answers.events[read])
            };
            own = own.or(taken.answer(Events { events, head }));
        }
        Ok(own)
    }

    /// Who has waited for long enough does not ask again.
    fn in_vain(&self, deadline: Instant) -> Result<Option<Events>, Error> {
        if Instant::now() < deadline {
            Ok(None)
        } else {
            Err(self.error(&sqlx::Error::PoolTimedOut))
        }
    }
}
