use std::collections::HashMap;

use dcb_core::{Bookmark, EventBatch, HandlerError, Position, SequencedEvent};
use md5::{Digest as _, Md5};
use message_store::{Message, StreamName, StreamWrite};
use uuid::{Builder, Uuid};

use crate::relay::Handler;

/// The most messages of a commit, and their size. Those of one event are never divided.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 1 << 20;

/// The messages of consecutive events, which are written together.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) writes: Vec<StreamWrite>,
    /// The events up to this one are relayed then.
    pub(crate) through: Bookmark,
    /// The index of each stream in `writes`.
    streams: HashMap<StreamName, usize>,
    messages: usize,
    size_bytes: usize,
}

/// The event whose handler failed.
#[derive(Debug, thiserror::Error)]
#[error("the event at position {position}: {source}")]
pub(crate) struct Unhandled {
    position: Position,
    source: HandlerError,
}

/// The commits that write the messages of a batch in the order of its events: one or more.
pub(crate) fn commits(
    batch: &EventBatch,
    relay: &str,
    handler: &Handler,
) -> Result<Vec<Commit>, Unhandled> {
    let (mut full, mut commit) = (Vec::new(), Commit::through(batch.through));
    for event in &batch.events {
        let messages = handler(event).map_err(|source| Unhandled {
            position: event.position(),
            source,
        })?;
        let messages = with_ids(messages, event, relay);
        if !commit.has_room_for(&messages) {
            full.push(std::mem::replace(
                &mut commit,
                Commit::through(batch.through),
            ));
        }
        commit.add(messages);
        commit.through = event.bookmark();
    }
    commit.through = batch.through;
    full.push(commit);
    Ok(full)
}

/// Gives an id to each message that has none.
fn with_ids(
    messages: Vec<(StreamName, Message)>,
    event: &SequencedEvent,
    relay: &str,
) -> Vec<(StreamName, Message)> {
    let messages = messages.into_iter().enumerate();
    let messages = messages.map(|(number, (stream, message))| match message.id() {
        Some(_) => (stream, message),
        None => (stream, message.with_id(id(event.id(), relay, number))),
    });
    messages.collect()
}

/// The UUID of version 3 with the event's id as its namespace: each relay has its own messages.
fn id(event: Uuid, relay: &str, number: usize) -> Uuid {
    let name = format!("{number}/{relay}");
    let digest = Md5::new().chain_update(event).chain_update(name);
    Builder::from_md5_bytes(digest.finalize().into()).into_uuid()
}

impl Commit {
    fn through(through: Bookmark) -> Self {
        Self {
            writes: Vec::new(),
            through,
            streams: HashMap::new(),
            messages: 0,
            size_bytes: 0,
        }
    }

    /// Whether the messages of another event fit: in size, and at the end. A write has each stream once, so a message
    /// of a stream that is not the last one would come before those of other events.
    fn has_room_for(&self, messages: &[(StreamName, Message)]) -> bool {
        let is_last = |index: &usize| index + 1 == self.writes.len();
        let at_the_end =
            |(stream, _): &(StreamName, Message)| self.streams.get(stream).is_none_or(is_last);
        self.writes.is_empty()
            || self.messages + messages.len() <= MAX_MESSAGES
                && self.size_bytes + size_bytes(messages) <= MAX_BYTES
                && messages.iter().all(at_the_end)
    }

    fn add(&mut self, messages: Vec<(StreamName, Message)>) {
        self.messages += messages.len();
        self.size_bytes += size_bytes(&messages);
        for (stream, message) in messages {
            if let Some(&index) = self.streams.get(&stream) {
                self.writes[index].messages.push(message);
            } else {
                self.streams.insert(stream.clone(), self.writes.len());
                self.writes.push(StreamWrite::new(stream, message));
            }
        }
    }
}

fn size_bytes(messages: &[(StreamName, Message)]) -> usize {
    messages
        .iter()
        .map(|(_, message)| message.size_bytes())
        .sum()
}
