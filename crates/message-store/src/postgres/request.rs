use std::sync::Arc;

use tokio::time::Instant;
use uuid::Uuid;

use crate::{Error, Message, StreamWrite, Written};

/// A write in a queue. Each of its messages has an id.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) writes: Vec<StreamWrite>,
    /// The lock key of each stream's category.
    pub(super) locks: Vec<i64>,
    /// The id of each message, given by the caller or generated.
    pub(super) ids: Arc<[Uuid]>,
    /// The end of the caller's time.
    pub(super) deadline: Instant,
    /// The last moment to send it for this caller.
    pub(super) send_before: Instant,
}

impl Request {
    pub(super) fn new(
        writes: Vec<StreamWrite>,
        lock: impl Fn(&str) -> i64,
        deadline: Instant,
        send_before: Instant,
    ) -> Self {
        let messages = writes.iter().flat_map(|write| &write.messages);
        let ids = messages.map(|message| message.id().unwrap_or_else(Uuid::now_v7));
        Self {
            ids: ids.collect(),
            locks: writes
                .iter()
                .map(|write| lock(write.stream.category()))
                .collect(),
            writes,
            deadline,
            send_before,
        }
    }

    /// Moves the request out of a batch and leaves an empty one, which allocates nothing.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            writes: Vec::new(),
            locks: Vec::new(),
            ids: Arc::default(),
            deadline: self.deadline,
            send_before: self.send_before,
        };
        std::mem::replace(self, empty)
    }

    /// Whether its caller has too little time left to wait for an answer.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.send_before
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.writes.iter().flat_map(|write| &write.messages)
    }

    /// The ids that the caller chose. Generated ids are new, so only these can be stored already.
    pub(super) fn known_ids(&self) -> impl Iterator<Item = Uuid> {
        self.messages().filter_map(Message::id)
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.messages().map(Message::size_bytes).sum()
    }
}

/// The outcome of a request in a batch.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Committed at these positions, or rejected with nothing written.
    Done(Result<Vec<Written>, Error>),
    /// Nothing was written: at least one of its ids is already stored. Compare the contents.
    Stored(Request),
    /// Nothing was written: another transaction holds the lock of one of its categories. Wait for
    /// it.
    Locked(Request),
    /// Nothing was written, and the obstacle is gone. Submit it again.
    Again(Request),
}
