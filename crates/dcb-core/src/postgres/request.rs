use std::ops::Deref;

use smallvec::SmallVec;
use uuid::Uuid;

use super::tag_key;
use crate::{Append, AppendCondition, Appended, Error, Event};

/// An append on its way through the queue. One pointer: it is moved often.
#[derive(Debug)]
pub(super) struct Request(Box<Contents>);

/// What a request holds, its events all with an id.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) append: Append,
    /// The id of each event: the caller's own, or one made for it.
    pub(super) ids: SmallVec<[Uuid; 1]>,
    /// The keys of the events' tags, event after event, each event's in order. Made by the caller,
    /// so that the one who commits for all does not have to.
    pub(super) tag_keys: SmallVec<[i64; 4]>,
    /// The tag's part of the key of each tag of the condition, item after item.
    pub(super) condition_keys: SmallVec<[i64; 4]>,
}

impl Deref for Request {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.0
    }
}

impl Request {
    pub(super) fn new(append: Append) -> Self {
        let ids = append
            .events
            .iter()
            .map(|event| event.id().unwrap_or_else(Uuid::now_v7));
        Self(Box::new(Contents {
            ids: ids.collect(),
            tag_keys: tag_keys(&append.events),
            condition_keys: append.condition.iter().flat_map(condition_keys).collect(),
            append,
        }))
    }

    /// Each event with its id and the keys of its tags, in order: several tags may have the same.
    pub(super) fn events(&self) -> impl Iterator<Item = (&Event, Uuid, &[i64])> {
        let mut rest = &*self.tag_keys;
        let events = self.append.events.iter().zip(self.ids.iter()).enumerate();
        events.map(move |(index, (event, &id))| {
            // The last one's are all that are left: those of a single event are not counted.
            let count = if index + 1 == self.ids.len() {
                rest.len()
            } else {
                event.tags().count()
            };
            let (own, others) = rest.split_at(count);
            rest = others;
            (event, id, own)
        })
    }

    /// The request itself, for its caller; an empty one stays behind.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(Append::new([])))
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

fn tag_keys(events: &[Event]) -> SmallVec<[i64; 4]> {
    let mut keys = SmallVec::new();
    for event in events {
        let first = keys.len();
        let type_bits = tag_key::of_type(event.event_type());
        keys.extend(event.tags().map(|tag| tag_key::of_tag(tag) | type_bits));
        keys[first..].sort_unstable();
    }
    keys
}

fn condition_keys(condition: &AppendCondition) -> impl Iterator<Item = i64> {
    let items = condition.fail_if_events_match.items().iter();
    let tags = items.flat_map(|item| item.tags());
    tags.map(|tag| tag_key::of_tag(tag.as_str()))
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
