use std::sync::Arc;

use smallvec::SmallVec;
use tokio::time::Instant;
use uuid::Uuid;

use super::tag_key;
use crate::{Append, AppendCondition, Appended, Error, Event};

/// An append on its way through the queue. All its events have an id.
///
/// The caller and the queue share it, because the caller may have to submit it again or to compare it
/// with stored events.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) append: Append,
    /// The id of each event: chosen by the caller, or generated.
    pub(super) ids: SmallVec<[Uuid; 1]>,
    /// The keys of the events' tags: event after event, each event's keys sorted. Hashed in the
    /// caller's task, not in the task that commits for all callers.
    pub(super) tag_keys: SmallVec<[i64; 4]>,
    /// The tag bits of the key of each tag in the conditions, condition after condition, item after
    /// item.
    condition_keys: SmallVec<[i64; 4]>,
    /// The end of the caller's time. `None` in the caller's own transaction.
    pub(super) deadline: Option<Instant>,
    /// The last moment to send it for this caller. `None` in the caller's own transaction.
    pub(super) send_before: Option<Instant>,
}

impl Request {
    pub(super) fn new(append: Append) -> Arc<Self> {
        let ids = append.events.iter().map(Event::id_or_new);
        Arc::new(Self {
            ids: ids.collect(),
            tag_keys: tag_keys(&append.events),
            condition_keys: append.conditions.iter().flat_map(condition_keys).collect(),
            append,
            deadline: None,
            send_before: None,
        })
    }

    /// Each event with its id and the sorted keys of its tags. Two tags may share a key.
    pub(super) fn events(&self) -> impl Iterator<Item = (&Event, Uuid, &[i64])> {
        let mut rest = &*self.tag_keys;
        let events = self.append.events.iter().zip(self.ids.iter()).enumerate();
        events.map(move |(index, (event, &id))| {
            // The last event has all the remaining keys. So a lone event's tags need no counting.
            let count = if index + 1 == self.ids.len() {
                rest.len()
            } else {
                event.tags().count()
            };
            let (event_keys, remaining) = rest.split_at(count);
            rest = remaining;
            (event, id, event_keys)
        })
    }

    /// Each condition, with the tag bits of the key of each tag in its query, item after item.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (&AppendCondition, &[i64])> {
        let mut rest = &*self.condition_keys;
        let conditions = &self.append.conditions;
        conditions
            .iter()
            .enumerate()
            .map(move |(index, condition)| {
                // The last condition has all the remaining keys. So a lone condition needs no counting.
                let count = if index + 1 == conditions.len() {
                    rest.len()
                } else {
                    tag_count(condition)
                };
                let (condition_keys, remaining) = rest.split_at(count);
                rest = remaining;
                (condition, condition_keys)
            })
    }

    /// Whether its caller has too little time left to wait for an answer.
    pub(super) fn is_late(&self) -> bool {
        self.send_before.is_some_and(|last| Instant::now() >= last)
    }

    /// The ids that the caller chose. Unlike generated ids, they may be stored already.
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

fn tag_keys(events: &[Event]) -> SmallVec<[i64; 4]> {
    let mut keys = SmallVec::new();
    for event in events {
        let first = keys.len();
        let type_bits = tag_key::type_bits(event.event_type());
        keys.extend(event.tags().map(|tag| tag_key::tag_bits(tag) | type_bits));
        // Sorted, so that the batch can drop duplicate keys of an event in one pass.
        keys[first..].sort_unstable();
    }
    keys
}

fn condition_keys(condition: &AppendCondition) -> impl Iterator<Item = i64> {
    let items = condition.fail_if_events_match.items().iter();
    let tags = items.flat_map(|item| item.tags());
    tags.map(|tag| tag_key::tag_bits(tag.as_str()))
}

fn tag_count(condition: &AppendCondition) -> usize {
    let items = condition.fail_if_events_match.items().iter();
    items.map(|item| item.tags().len()).sum()
}

/// The result of a request in a batch.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It was committed, or refused with nothing written.
    Done(Result<Appended, Error>),
    /// Nothing was written, because at least one of its ids is stored already. Compare the stored
    /// events to get the result.
    Stored,
    /// Nothing was written, but the request may succeed now. Submit it again.
    Again,
}
