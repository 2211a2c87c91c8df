use std::sync::Arc;

use uuid::Uuid;

use crate::{Append, Appended, Error};

/// An append on its way through the queue, its events all with an id.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) append: Append,
    /// The id of each event: the caller's own, or one made for it.
    pub(super) ids: Arc<[Uuid]>,
}

impl Request {
    pub(super) fn new(append: Append) -> Self {
        let ids = append
            .events
            .iter()
            .map(|event| event.id().unwrap_or_else(Uuid::now_v7));
        Self {
            ids: ids.collect(),
            append,
        }
    }

    /// The request itself, for its caller; an empty one stays behind.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            append: Append::new([]),
            ids: Arc::default(),
        };
        std::mem::replace(self, empty)
    }

    /// The ids that the caller chose, which may be stored already.
    pub(super) fn known_ids(&self) -> impl Iterator<Item = Uuid> {
        self.append.events.iter().filter_map(|event| event.id())
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.append
            .events
            .iter()
            .map(|event| event.size_bytes())
            .sum()
    }
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It was committed, or refused with nothing written.
    Settled(Result<Appended, Error>),
    /// Nothing was written: at least one of its ids is stored already. Compare, then answer.
    Stored(Request),
    /// Nothing was written, and nothing stands against it any more. Submit it again.
    Again(Request),
}
