use std::sync::Arc;

use uuid::Uuid;

use crate::{Error, Message, StreamWrite, Written};

/// A write on its way through a queue, its messages all with an id.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) writes: Vec<StreamWrite>,
    /// The key of the lock of each stream's category.
    pub(super) locks: Vec<i64>,
    /// The id of each message: the caller's own, or one made for it.
    pub(super) ids: Arc<[Uuid]>,
}

impl Request {
    pub(super) fn new(writes: Vec<StreamWrite>, lock: impl Fn(&str) -> i64) -> Self {
        let messages = writes.iter().flat_map(|write| &write.messages);
        let ids = messages.map(|message| message.id().unwrap_or_else(Uuid::now_v7));
        Self {
            ids: ids.collect(),
            locks: writes
                .iter()
                .map(|write| lock(write.stream.category()))
                .collect(),
            writes,
        }
    }

    /// The request itself, for its caller; an empty one stays behind.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            writes: Vec::new(),
            locks: Vec::new(),
            ids: Arc::default(),
        };
        std::mem::replace(self, empty)
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.writes.iter().flat_map(|write| &write.messages)
    }

    /// The ids that the caller chose, which may be stored already.
    pub(super) fn known_ids(&self) -> impl Iterator<Item = Uuid> {
        self.messages().filter_map(Message::id)
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.messages().map(Message::size_bytes).sum()
    }
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It was committed, each message where it says, or refused with nothing written.
    Settled(Result<Vec<Written>, Error>),
    /// Nothing was written: at least one of its ids is stored already. Compare, then answer.
    Stored(Request),
    /// Nothing was written: another transaction writes to one of its categories. Wait for that.
    Locked(Request),
    /// Nothing was written, and nothing stands against it any more. Submit it again.
    Again(Request),
}
