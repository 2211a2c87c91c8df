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

/// What a caller is told: committed, or refused with nothing written.
pub(super) type Verdict = Result<Appended, Error>;

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

    /// The request itself; an empty one stays behind.
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
