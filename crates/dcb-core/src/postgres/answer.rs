//! The rows of a read, as events.

use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::row::{self, Heading};
use crate::{Bookmark, Error, Events, Query, ReadOptions, SequencedEvent};

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
    /// `None` before the first row.
    heading: Option<Heading>,
    pub(super) events: Vec<SequencedEvent>,
    pub(super) size_bytes: usize,
    limit: usize,
}

impl Answer {
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self {
            heading: None,
            events: Vec::new(),
            size_bytes: 0,
            limit: max_events(limit),
        }
    }

    /// Takes the first row, which the read with this index shares with others.
    pub(super) fn begin(&mut self, row: &PgRow, index: usize) -> Result<(), Error> {
        self.heading = Some(row::heading(row, index)?);
        Ok(())
    }

    /// Adds a row of [`Statements::read`]. The first has the head, each further one an event.
    /// `filter` is the query if the rows are not exactly its events.
    pub(super) fn take(&mut self, filter: Option<&Query>, row: &PgRow) -> Result<(), Error> {
        if self.heading.is_none() {
            return self.begin(row, 0);
        }
        let event = row::event(row)?;
        let is_wanted = |query: &Query| self.events.len() < self.limit && query.matches(&event);
        if filter.is_none_or(is_wanted) {
            self.size_bytes += event.size_bytes();
            self.events.push(event);
        }
        Ok(())
    }

    /// The answer; `None` without a row.
    pub(super) fn found(self) -> Option<Found> {
        let Heading { head, id_at_start } = self.heading?;
        let events = self.events;
        Some(Found {
            events: Events { events, head },
            id_at_start,
        })
    }
}

/// The answer to a read, before its `after` is checked.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) events: Events,
    id_at_start: Option<Uuid>,
}

impl Found {
    /// The events, if the log has what the reader has seen before.
    pub(super) fn checked(self, options: ReadOptions) -> Result<Events, Error> {
        let head = Bookmark::position_of(self.events.head);
        options.check_after(head, self.id_at_start)?;
        Ok(self.events)
    }
}
