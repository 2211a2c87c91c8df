//! The rows of a read, as events.

use sqlx::postgres::PgRow;

use super::readers::Readers;
use super::row;
use super::selection::Bounds;
use crate::{Error, Events, Position, Query, ReadOptions, SequencedEvent};

/// The limit as a parameter.
pub(super) fn limit(options: ReadOptions) -> Option<i64> {
    options
        .limit
        .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX))
}

fn max_events(limit: Option<u64>) -> usize {
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// The most bytes of events that a short read returns. They are held in memory until the last row
/// arrives, even for a stream.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// The rows of a read so far.
pub(super) struct Answer {
    /// `None` before the first row, which has the head; `Some(None)` if the log is empty.
    pub(super) head: Option<Option<Position>>,
    pub(super) events: Vec<SequencedEvent>,
    pub(super) size_bytes: usize,
    limit: usize,
}

impl Answer {
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self {
            head: None,
            events: Vec::new(),
            size_bytes: 0,
            limit: max_events(limit),
        }
    }

    /// Adds a row of [`Statements::read`]. The first has the head, each further one an event.
    /// `filter` is the query if the rows are not exactly its events.
    pub(super) fn take(&mut self, filter: Option<&Query>, row: &PgRow) -> Result<(), Error> {
        if self.head.is_none() {
            self.head = Some(row::head(row)?);
            return Ok(());
        }
        let event = row::event(row)?;
        let is_wanted = |query: &Query| self.events.len() < self.limit && query.matches(&event);
        if filter.is_none_or(is_wanted) {
            self.size_bytes += event.size_bytes();
            self.events.push(event);
        }
        Ok(())
    }

    /// The answer of a short read. `None` if its range turned out to be long.
    pub(super) fn of_short_read(self, readers: &Readers, options: ReadOptions) -> Option<Events> {
        let (events, head) = (self.events, self.head.flatten());
        readers.observe_head(head);
        let is_short = Bounds::new(options).are_short(head);
        is_short.then_some(Events { events, head })
    }
}
