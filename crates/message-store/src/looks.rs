//! One look at the store for all readers that wait.
//!
//! Without this, each reader would poll for itself, and idle ones would cost reads by their number. The
//! head alone does not tell whether something is new: writers draw positions and commit in any order, so
//! a message may appear before the head. A look therefore asks for what is [`Settled`].

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{Bookmark, GlobalPosition, MessageStore};

/// The end of a store at a moment at which no write was under way: the message of each drawn position can
/// be read, or will never exist. While two answers are equal, a read after the first has missed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The last global position that a writer has drawn, 0 for none.
    pub drawn: GlobalPosition,
    /// The last message. It differs if the past was replaced, or if an import has chosen its positions.
    pub head: Option<Bookmark>,
}

/// The last look of a store's readers.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    begun: Option<Instant>,
    /// The result of the last look, and when it began.
    found: Option<(Instant, Option<Settled>)>,
}

/// The next step of a reader after its pause.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// It reads.
    Read,
    /// It looks, for all.
    Look(Instant),
    /// Another reader looks at this moment.
    Await,
    /// Nothing is new. The next look is due after this time.
    Rest(Duration),
}

impl Looks {
    /// The result of the last look. A read that begins now sees all of it.
    pub(crate) fn settled(&self) -> Option<Settled> {
        self.lock().found.and_then(|(_, settled)| settled)
    }

    /// The next step of a reader that has read everything up to `seen`, and wants a look every `interval`.
    pub(crate) fn next(&self, seen: Option<Settled>, interval: Duration) -> Next {
        let mut last = self.lock();
        let now = Instant::now();
        let left = |begun: Instant| {
            let left = interval.checked_sub(now - begun);
            left.filter(|left| !left.is_zero())
        };
        if let Some((begun, settled)) = last.found
            && let Some(left) = left(begun)
        {
            return match settled.is_some() && settled == seen {
                true => Next::Rest(left),
                false => Next::Read,
            };
        }
        if last.begun.and_then(left).is_some() {
            return Next::Await;
        }
        last.begun = Some(now);
        Next::Look(now)
    }

    /// Looks. After an error the readers read, and learn of it themselves.
    pub(crate) async fn look(&self, begun: Instant, store: &impl MessageStore) {
        let settled = store.settled().await.unwrap_or_default();
        self.lock().found = Some((begun, settled));
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
