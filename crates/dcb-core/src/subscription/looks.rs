//! One look at the end of the log for all subscriptions of a store.
//!
//! Without this, each subscription would poll for itself, and idle ones would cost statements by their
//! number. A look is the read of any subscription: it finds the head of the log.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Bookmark;

/// The last looks of a store's subscriptions.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    begun: Option<Instant>,
    /// The last look that has found a head, and when it began.
    found: Option<(Instant, Option<Bookmark>)>,
}

/// The next step of a subscription after its pause.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// It looks itself.
    Look,
    /// Another one has looked, and nothing is new. The next look is due after this time.
    Rest(Duration),
    /// Another one looks. Its answer is probably there after this time.
    Await(Duration),
}

impl Looks {
    /// A read begins that will find the head.
    pub(super) fn begin(&self) -> Instant {
        let now = Instant::now();
        self.lock().begun = Some(now);
        now
    }

    /// The read that began then has found this head.
    pub(super) fn found(&self, begun: Instant, head: Option<Bookmark>) {
        self.lock().found = Some((begun, head));
    }

    /// The next step of a subscription that has read to `read_to` and looks every `interval`.
    pub(super) fn next(&self, read_to: Option<Bookmark>, interval: Duration) -> Next {
        let mut last = self.lock();
        let now = Instant::now();
        let left = |begun: Instant| {
            interval
                .checked_sub(now - begun)
                .filter(|left| !left.is_zero())
        };
        let found = last.found.map(|(begun, head)| (left(begun), head));
        match found {
            Some((Some(left), head)) if head == read_to => return Next::Rest(left),
            Some((Some(_), _)) => {}
            _ if last.begun.and_then(left).is_some() => return Next::Await(interval / 8),
            _ => {}
        }
        last.begun = Some(now);
        Next::Look
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
