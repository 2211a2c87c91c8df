//! The progress of a stream through the pages of its snapshot.

use postgres_store::Failure;

use super::super::row::Heading;
use crate::bounds::Bounds;
use crate::{Bookmark, Error, ReadOptions};

// Pages grow, so that a consumer of a few events does not make the server read thousands.
const FIRST_PAGE_ROWS: i64 = 256;
const LAST_PAGE_ROWS: i64 = 8192;
const PAGE_GROWTH: i64 = 8;

/// The progress of a stream.
pub(super) struct Pages {
    options: ReadOptions,
    pub(super) bounds: Bounds,
    pub(super) remaining: Option<i64>,
    page_rows: i64,
    /// The head of the snapshot: `None` before the first page, `Some(None)` if the log is empty.
    snapshot: Option<Option<Bookmark>>,
    /// The event that was passed on last.
    last: Option<Bookmark>,
    /// Whether a dead connection has used up its one retry.
    retried: bool,
}

impl Pages {
    pub(super) fn new(options: ReadOptions) -> Self {
        Self {
            bounds: Bounds::of(options),
            remaining: options
                .limit
                .map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            page_rows: FIRST_PAGE_ROWS,
            snapshot: None,
            last: None,
            options,
            retried: false,
        }
    }

    pub(super) fn limit(&self) -> i64 {
        self.remaining
            .map_or(self.page_rows, |remaining| remaining.min(self.page_rows))
    }

    /// The head of the snapshot. Valid after the first page has begun.
    pub(super) fn head(&self) -> Option<Bookmark> {
        self.snapshot.flatten()
    }

    /// Handles the first row of a page. The first page defines the snapshot. A later head below the
    /// snapshot's means that the log was cleared, and so does another event in place of the last one.
    pub(super) fn begin(&mut self, heading: Heading) -> Result<(), Error> {
        let head = Bookmark::position_of(heading.head);
        match self.snapshot {
            None => {
                self.options.check_after(head, heading.id_at_start)?;
                self.snapshot = Some(heading.head);
                self.bounds = self.bounds.through(head);
                Ok(())
            }
            Some(snapshot) => {
                ReadOptions::check_next_page(snapshot, self.last, head, heading.id_at_start)
            }
        }
    }

    pub(super) fn passed(&mut self, event: Bookmark) {
        let position = i64::try_from(event.position.get()).unwrap_or(i64::MAX);
        self.last = Some(event);
        self.bounds = self.bounds.past(position);
        self.remaining = self.remaining.map(|remaining| remaining - 1);
    }

    /// Whether to continue a failed page on another connection. Yes if the page timed out after
    /// some events, because then its consumer was slow; and once if its connection was dead, or its
    /// session spoiled, before the first event.
    pub(super) fn may_retry(&mut self, failure: Failure, seen: i64) -> bool {
        match failure {
            Failure::Cancelled => seen > 0,
            Failure::Lost | Failure::ReadOnly | Failure::Session => {
                !std::mem::replace(&mut self.retried, seen == 0) && seen == 0
            }
            Failure::NotSent | Failure::Data | Failure::Deadlock | Failure::Refused => false,
        }
    }

    pub(super) fn grow(&mut self) {
        self.page_rows = (self.page_rows * PAGE_GROWTH).min(LAST_PAGE_ROWS);
    }

    /// Makes the next page as long as the part of the last one that a slow consumer took, so that
    /// the server does not read the rest again and again.
    pub(super) fn shrink(&mut self, seen: i64) {
        if seen > 0 {
            self.page_rows = seen;
        }
    }
}
