use std::sync::Arc;
use std::time::{Duration, Instant};

use group_commit::{Claim, deadline_after};
use smallvec::SmallVec;
use uuid::Uuid;

use crate::{Append, Appended, Error, Event};

/// A queued append, with an id for every event.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) append: Append,
    pub(super) ticket: Arc<Ticket>,
    /// The end of the caller's time.
    pub(super) deadline: Instant,
}

/// What the caller keeps of a request that it has queued.
#[derive(Debug)]
pub(super) struct Ticket {
    /// The id of each event, from the caller or generated. Inline for a single event.
    pub(super) ids: SmallVec<[Uuid; 1]>,
    pub(super) claim: Claim,
}

/// The answer to a request: committed, or refused with nothing written.
pub(super) type Verdict = Result<Appended, Error>;

impl Request {
    pub(super) fn new(append: Append, limit: Duration) -> Self {
        let ids = append.events.iter().map(Event::id_or_new);
        let ticket = Ticket {
            ids: ids.collect(),
            claim: Claim::default(),
        };
        Self {
            ticket: Arc::new(ticket),
            deadline: deadline_after(Instant::now(), limit),
            append,
        }
    }

    /// Moves the request out and leaves an empty one behind.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            append: Append::new([]),
            ticket: Arc::clone(&self.ticket),
            deadline: self.deadline,
        };
        std::mem::replace(self, empty)
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.append
            .events
            .iter()
            .map(|event| event.size_bytes())
            .sum()
    }
}
