use std::sync::Arc;

use uuid::Uuid;

use crate::{Append, Appended, Error, Event};

/// A queued append, with an id for every event.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) append: Append,
    /// The id of each event, from the caller or generated.
    pub(super) ids: Arc<[Uuid]>,
}

/// The answer to a request: committed, or refused with nothing written.
pub(super) type Verdict = Result<Appended, Error>;

impl Request {
    pub(super) fn new(append: Append) -> Self {
        let ids = append.events.iter().map(Event::id_or_new);
        Self {
            ids: ids.collect(),
            append,
        }
    }

    /// Moves the request out and leaves an empty one behind.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            append: Append::new([]),
            ids: Arc::default(),
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
