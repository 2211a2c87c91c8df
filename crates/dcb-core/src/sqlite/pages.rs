//! A read in pages of one snapshot.
//!
//! The log up to a position never changes, so a snapshot is a position: every page is bounded by
//! the head that the first page saw, and nothing stays open between pages.

use std::ops::ControlFlow;

use super::alternatives::Bounds;
use super::log::Log;
use super::moment::Moment;
use super::read::{check_after, position};
use super::row;
use super::scan::scan;
use crate::{Error, Events, Position, Query, ReadOptions, SequencedEvent};

/// Pages grow from the first size to the last, so that who wants little does not read much.
const FIRST_PAGE_EVENTS: u64 = 256;
const LAST_PAGE_EVENTS: u64 = 8192;
const PAGE_GROWTH: u64 = 8;
/// A page ends with the event that takes it past this size.
const PAGE_BYTES: usize = 1 << 20;

/// Where a read is.
pub(super) struct Pages {
    query: Query,
    options: ReadOptions,
    left: Bounds,
    remaining: u64,
    page_events: u64,
    /// The head of the snapshot, once the first page was read.
    snapshot: Option<Option<Position>>,
    ended: bool,
}

/// How much of a read to take at once.
#[derive(Clone, Copy)]
struct PageSize {
    events: u64,
    bytes: usize,
}

/// The head of the log, and some of the events that are left.
struct Page {
    head: Option<Position>,
    events: Vec<SequencedEvent>,
    /// Whether there may be more.
    full: bool,
}

/// All events of a read.
pub(super) fn whole(log: &Log, query: &Query, options: ReadOptions) -> Result<Events, Error> {
    let size = PageSize {
        events: options.limit.unwrap_or(u64::MAX),
        bytes: usize::MAX,
    };
    let page = log.at_one_moment(|moment| page(moment, query, Bounds::of(options), size))?;
    check_after(options, page.head)?;
    Ok(Events {
        events: page.events,
        head: page.head,
    })
}

impl Pages {
    pub(super) fn new(query: Query, options: ReadOptions) -> Self {
        Self {
            query,
            options,
            left: Bounds::of(options),
            remaining: options.limit.unwrap_or(u64::MAX),
            page_events: FIRST_PAGE_EVENTS,
            snapshot: None,
            ended: false,
        }
    }

    /// The head of the snapshot, once the first page was read.
    pub(super) fn head(&self) -> Option<Position> {
        self.snapshot.flatten()
    }

    /// The next events; none at the end, and none after an error.
    pub(super) fn next(&mut self, log: &Log) -> Result<Vec<SequencedEvent>, Error> {
        if self.ended {
            return Ok(Vec::new());
        }
        let page = self.read(log);
        self.ended |= page.is_err();
        page
    }

    fn read(&mut self, log: &Log) -> Result<Vec<SequencedEvent>, Error> {
        let size = PageSize {
            events: self.remaining.min(self.page_events),
            bytes: PAGE_BYTES,
        };
        let page = log.at_one_moment(|moment| page(moment, &self.query, self.left, size))?;
        self.begin(page.head)?;
        self.remaining -= page.events.len() as u64;
        self.page_events = (self.page_events * PAGE_GROWTH).min(LAST_PAGE_EVENTS);
        self.ended = !page.full || self.remaining == 0;
        if let Some(last) = page.events.last() {
            self.left = self.left.past(last.position().get().cast_signed());
        }
        Ok(page.events)
    }

    /// Takes in the head that a page saw. The first is the snapshot's; a later one before it means
    /// that the file was replaced by an older one.
    fn begin(&mut self, head: Option<Position>) -> Result<(), Error> {
        match self.snapshot {
            None => {
                check_after(self.options, head)?;
                self.snapshot = Some(head);
                let end = Position::number_or_zero(head).cast_signed() + 1;
                self.left.below = self.left.below.min(end);
                Ok(())
            }
            Some(Some(after)) if head < Some(after) => Err(Error::AfterBeyondHead { after, head }),
            Some(_) => Ok(()),
        }
    }
}

fn page(
    moment: &Moment<'_>,
    query: &Query,
    bounds: Bounds,
    size: PageSize,
) -> rusqlite::Result<Page> {
    let (mut events, mut bytes) = (Vec::new(), 0);
    let is_full = |events: &[SequencedEvent], bytes: usize| {
        events.len() as u64 >= size.events || bytes >= size.bytes
    };
    if !is_full(&events, bytes) {
        scan(moment, query, bounds, |row| {
            let event = row::event(row)?;
            let matches = query.matches(&event);
            if matches {
                bytes += event.size_bytes();
                events.push(event);
            }
            Ok(if is_full(&events, bytes) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(matches)
            })
        })?;
    }
    Ok(Page {
        head: position(moment.head),
        full: is_full(&events, bytes),
        events,
    })
}
