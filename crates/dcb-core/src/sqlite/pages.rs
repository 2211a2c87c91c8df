//! Reads the events of one snapshot page by page.
//!
//! The log up to a position never changes, so a position identifies a snapshot: every page ends at
//! the head that the first page saw, and no transaction stays open between pages. The exception is
//! `clear`, which empties the log; a later page then fails with [`Error::AfterBeyondHead`] if the
//! log is still shorter than the snapshot, and with [`Error::PastReplaced`] if it has grown again. The conformance cases in `stream.rs` of `dcb-conformance` and
//! `tests/it/backends/clearing.rs` fail without this.

use std::ops::ControlFlow;

use store_meter::Holder;
use uuid::Uuid;

use super::log::Log;
use super::row;
use super::scan::scan;
use super::snapshot::Snapshot;
use crate::bounds::Bounds;
use crate::{Bookmark, Error, Events, Query, ReadOptions, SequencedEvent};

/// Page sizes grow, so that a caller who takes few events does not pay for many.
const FIRST_PAGE_EVENTS: u64 = 256;
const LAST_PAGE_EVENTS: u64 = 8192;
const PAGE_GROWTH: u64 = 8;
/// A page ends with the event that makes it exceed this size.
const PAGE_BYTES: usize = 1 << 20;

/// The state of a paged read.
pub(super) struct Pages {
    query: Query,
    options: ReadOptions,
    /// The part of the log that is not read yet.
    remaining: Bounds,
    /// How many events the limit still allows.
    remaining_events: u64,
    page_events: u64,
    /// The head of the snapshot; `None` before the first page.
    snapshot_head: Option<Option<Bookmark>>,
    /// The event after which the next page begins.
    last: Option<Bookmark>,
    ended: bool,
}

/// The limits of a page.
#[derive(Clone, Copy)]
struct PageSize {
    events: u64,
    bytes: usize,
}

/// The events of a page, and the head of the log at that time.
struct Page {
    head: Option<Bookmark>,
    /// The id of the event after which the page begins.
    id_at_start: Option<Uuid>,
    events: Vec<SequencedEvent>,
    /// Whether a limit ended the page, so there may be more events.
    full: bool,
}

/// Reads all events at once.
pub(super) fn whole(log: &Log, query: &Query, options: ReadOptions) -> Result<Events, Error> {
    let size = PageSize {
        events: options.limit.unwrap_or(u64::MAX),
        bytes: usize::MAX,
    };
    let bounds = Bounds::of(options);
    let page = log.with_snapshot(Holder::Page, |snapshot| {
        page(snapshot, query, options.after, bounds, size)
    })?;
    options.check_after(Bookmark::position_of(page.head), page.id_at_start)?;
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
            remaining: Bounds::of(options),
            remaining_events: options.limit.unwrap_or(u64::MAX),
            page_events: FIRST_PAGE_EVENTS,
            snapshot_head: None,
            last: options.after,
            ended: false,
        }
    }

    /// The head of the snapshot. Valid after the first page.
    pub(super) fn head(&self) -> Option<Bookmark> {
        self.snapshot_head.flatten()
    }

    /// The next events; empty at the end and after an error.
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
            events: self.remaining_events.min(self.page_events),
            bytes: PAGE_BYTES,
        };
        let page = log.with_snapshot(Holder::Page, |snapshot| {
            page(snapshot, &self.query, self.last, self.remaining, size)
        })?;
        self.check(&page)?;
        self.remaining_events -= page.events.len() as u64;
        self.page_events = (self.page_events * PAGE_GROWTH).min(LAST_PAGE_EVENTS);
        self.ended = !page.full || self.remaining_events == 0;
        if let Some(last) = page.events.last() {
            self.remaining = self.remaining.past(last.position().get().cast_signed());
            self.last = Some(last.bookmark());
        }
        Ok(page.events)
    }

    /// Checks what a page saw of the log. The head of the first page is the head of the snapshot. If
    /// a later page sees a smaller head, or another event in place of the last one, the log was emptied
    /// or replaced by an older copy.
    fn check(&mut self, page: &Page) -> Result<(), Error> {
        let head = Bookmark::position_of(page.head);
        match self.snapshot_head {
            None => {
                self.options.check_after(head, page.id_at_start)?;
                self.snapshot_head = Some(page.head);
                self.remaining = self.remaining.through(head);
                Ok(())
            }
            Some(snapshot) => {
                ReadOptions::check_next_page(snapshot, self.last, head, page.id_at_start)
            }
        }
    }
}

fn page(
    snapshot: &Snapshot<'_>,
    query: &Query,
    start: Option<Bookmark>,
    bounds: Bounds,
    size: PageSize,
) -> rusqlite::Result<Page> {
    let checked = start.filter(|start| start.event_id.is_some());
    let id_at_start = match checked {
        Some(start) => snapshot.id_at(start.position)?,
        None => None,
    };
    let (mut events, mut bytes) = (Vec::new(), 0);
    let is_full = |events: &[SequencedEvent], bytes: usize| {
        events.len() as u64 >= size.events || bytes >= size.bytes
    };
    // With a limit of 0 the page is full from the start.
    if !is_full(&events, bytes) {
        scan(snapshot, query, bounds, |row| {
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
        head: snapshot.last,
        id_at_start,
        full: is_full(&events, bytes),
        events,
    })
}
