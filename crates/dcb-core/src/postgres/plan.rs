//! Decides which requests of a batch can share a commit, and turns the server's answer into a
//! result for each request. Pure: no I/O.
//!
//! The server checks every request against the log as it was before the batch. It does not see that
//! an earlier request of the same batch may conflict with a later one. The plan defers the later
//! request: the batch carries its conditions, but not its events. If the earlier request is
//! committed, the deferred one gets a conflict. If the server refuses the earlier request, the
//! deferred one is submitted again.

use std::cmp;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use uuid::Uuid;

use super::recent_tags::{EventRef, RecentTags};
use super::request::Request;
use super::tag_key::{self, Keyed};
use crate::{Appended, Error, Position, QueryItem};

/// The server's answer to a batch.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The last position before the batch; 0 if the log was empty.
    pub(super) head: u64,
    /// By index in the batch.
    pub(super) refusals: HashMap<usize, Refusal>,
}

/// The reason why the server did not append a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Stored,
    AfterBeyondHead,
    AlreadyTracked { tracked: u64 },
    Conflict { position: Position },
}

/// The result of a request after the server's answer.
#[derive(Debug)]
pub(super) enum Settled {
    Done(Result<Appended, Error>),
    /// At least one id of the request is stored already: compare the stored events.
    Stored,
    /// Submit the request again.
    Again,
}

#[derive(Debug)]
pub(super) struct Plan {
    /// For each request, why it is deferred; `None` if its events are sent.
    deferrals: Vec<Option<Deferral>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Deferral {
    /// Its condition matches these events of earlier requests: (request, index of the event).
    Conflicting(Vec<(usize, usize)>),
    /// An earlier request has one of its ids, or tracks the same source.
    SharesIdOrSource,
}

impl Plan {
    pub(super) fn new(batch: &[Request]) -> Self {
        let mut earlier = EarlierRequests::new(batch);
        let deferrals = batch.iter().enumerate().map(|(index, request)| {
            let deferral = earlier.deferral(request);
            // The last request needs no index, because no request after it looks for its events.
            if deferral.is_none() && index + 1 < batch.len() {
                earlier.add(index);
            }
            deferral
        });
        Self {
            deferrals: deferrals.collect(),
        }
    }

    /// Whether the batch carries the events of this request. A deferred request sends only its
    /// conditions and ids.
    pub(super) fn is_sent(&self, request: usize) -> bool {
        self.deferrals[request].is_none()
    }

    /// The result of each request, in order.
    pub(super) fn settle(&self, batch: &[Request], answer: &Answer) -> Vec<Settled> {
        let firsts = self.first_positions(batch, answer);
        let settled = batch.iter().enumerate().map(|(index, request)| {
            // The server checks deferred requests too, and its refusal is final for them.
            if let Some(refusal) = answer.refusals.get(&index) {
                return refused(*refusal, request, answer.head);
            }
            match &self.deferrals[index] {
                None => appended(firsts[index], request.append.events.len()),
                Some(deferral) => settle_deferred(deferral, &firsts),
            }
        });
        settled.collect()
    }

    /// Notes the tags of the events that were appended.
    pub(super) fn note_appended(
        &self,
        batch: &[Request],
        answer: &Answer,
        recent: &mut RecentTags,
    ) {
        recent.begin_batch(answer.head);
        let firsts = self.first_positions(batch, answer);
        let appended = batch.iter().zip(firsts).filter(|&(_, first)| first > 0);
        for (request, first) in appended {
            for (position, (_, id, tag_keys)) in (first..).zip(request.events()) {
                recent.note(EventRef { position, id }, tag_keys);
            }
        }
    }

    /// The first position of each appended request; 0 for the others.
    fn first_positions(&self, batch: &[Request], answer: &Answer) -> Vec<u64> {
        let mut next = answer.head + 1;
        let firsts = batch.iter().enumerate().map(|(index, request)| {
            if !self.is_sent(index) || answer.refusals.contains_key(&index) {
                return 0;
            }
            let first = next;
            next += request.append.events.len() as u64;
            first
        });
        firsts.collect()
    }
}

fn appended(first: u64, count: usize) -> Settled {
    let first = Position::new(first).expect("an appended request follows the head");
    Settled::Done(Ok(Appended::contiguous(first, count)))
}

fn settle_deferred(deferral: &Deferral, firsts: &[u64]) -> Settled {
    let Deferral::Conflicting(events) = deferral else {
        // In the next batch the server compares the id or the source with what is committed now.
        return Settled::Again;
    };
    let committed = events.iter().find_map(|&(request, event)| {
        let first = Position::new(firsts[request])?;
        Position::new(first.get() + event as u64)
    });
    match committed {
        Some(position) => Settled::Done(Err(Error::Conflict { position })),
        None => Settled::Again,
    }
}

fn refused(refusal: Refusal, request: &Request, head: u64) -> Settled {
    let error = match refusal {
        Refusal::Stored => return Settled::Stored,
        Refusal::Conflict { position } => Error::Conflict { position },
        Refusal::AlreadyTracked { tracked } => Error::AlreadyTracked {
            origin: request
                .append
                .tracking
                .as_ref()
                .map_or("", |tracking| tracking.source())
                .to_owned(),
            tracked,
        },
        Refusal::AfterBeyondHead => Error::AfterBeyondHead {
            after: request
                .append
                .condition
                .as_ref()
                .and_then(|condition| condition.after)
                .expect("only an after can be beyond the head"),
            head: Position::new(head),
        },
    };
    Settled::Done(Err(error))
}

/// The requests that the batch is going to append, with their events indexed by tag.
struct EarlierRequests<'a> {
    batch: &'a [Request],
    /// Each event: (request, index of the event).
    events: Vec<(usize, usize)>,
    /// Whether to collect events: a request after the first has a condition.
    notes_events: bool,
    /// Whether to index their tags: such a condition has a query other than `all`.
    notes_tags: bool,
    /// The occurrences of each tag, under any type.
    by_tag: Keyed<Occurrences>,
    /// One linked list per tag, newest first: (index in `events`, previous occurrence). A `Vec` per
    /// tag would allocate for each tag of the batch.
    occurrences: Vec<(usize, Option<usize>)>,
    ids: HashSet<Uuid>,
    sources: HashSet<&'a str>,
}

/// The number of occurrences of a tag, and the index of the last one.
#[derive(Clone, Copy, Default)]
struct Occurrences {
    count: usize,
    last: Option<usize>,
}

impl<'a> EarlierRequests<'a> {
    fn new(batch: &'a [Request]) -> Self {
        // The first condition has no request before it. A lone request therefore indexes nothing.
        let mut conditions = batch
            .iter()
            .skip(1)
            .filter_map(|r| r.append.condition.as_ref());
        let notes_events = conditions.clone().next().is_some();
        let notes_tags = conditions.any(|condition| !condition.fail_if_events_match.is_all());
        let tags = if notes_tags {
            batch.iter().map(|request| request.tag_keys.len()).sum()
        } else {
            0
        };
        Self {
            batch,
            events: Vec::new(),
            notes_events,
            notes_tags,
            by_tag: Keyed::with_capacity_and_hasher(tags, BuildHasherDefault::default()),
            occurrences: Vec::with_capacity(tags),
            ids: HashSet::new(),
            sources: HashSet::new(),
        }
    }

    fn add(&mut self, index: usize) {
        let request = &self.batch[index];
        if self.notes_events {
            for (number, (_, _, tag_keys)) in request.events().enumerate() {
                if self.notes_tags {
                    self.add_tags(tag_keys);
                }
                self.events.push((index, number));
            }
        }
        self.ids.extend(request.known_ids());
        self.sources.extend(
            request
                .append
                .tracking
                .iter()
                .map(|tracking| tracking.source()),
        );
    }

    /// Indexes the tags of the event that is about to be pushed to `events`.
    fn add_tags(&mut self, tag_keys: &[i64]) {
        for &key in tag_keys {
            let tag = self.by_tag.entry(tag_key::any_type(key)).or_default();
            self.occurrences.push((self.events.len(), tag.last));
            tag.count += 1;
            tag.last = Some(self.occurrences.len() - 1);
        }
    }

    fn deferral(&self, request: &Request) -> Option<Deferral> {
        let tracking = request.append.tracking.as_ref();
        if request.known_ids().any(|id| self.ids.contains(&id))
            || tracking.is_some_and(|tracking| self.sources.contains(tracking.source()))
        {
            return Some(Deferral::SharesIdOrSource);
        }
        let query = &request.append.condition.as_ref()?.fail_if_events_match;
        if query.is_all() {
            return (!self.events.is_empty()).then(|| Deferral::Conflicting(self.events.clone()));
        }
        let mut matching = Vec::new();
        let mut keys = &*request.condition_keys;
        for item in query.items() {
            let (item_keys, rest) = keys.split_at(item.tags().len());
            self.add_matching(item, item_keys, &mut matching);
            keys = rest;
        }
        matching.sort_unstable();
        matching.dedup();
        (!matching.is_empty()).then_some(Deferral::Conflicting(matching))
    }

    /// Adds the events that match the item. `keys` are the keys of the item's tags.
    fn add_matching(&self, item: &QueryItem, keys: &[i64], matching: &mut Vec<(usize, usize)>) {
        let matches = |&(request, number): &(usize, usize)| {
            let event = &self.batch[request].append.events[number];
            item.matches(
                |wanted| event.is_of_type(wanted),
                |wanted| event.has_tag(wanted),
            )
        };
        // A matching event has all tags, so the tag with the fewest events leads to all of them.
        let mut rarest = None::<&Occurrences>;
        for key in keys {
            let Some(tag) = self.by_tag.get(key) else {
                // No event has this tag, so none has all of them.
                return;
            };
            rarest =
                Some(rarest.map_or(tag, |rarest| cmp::min_by_key(rarest, tag, |tag| tag.count)));
        }
        // No tag: the item matches by type, which is not indexed.
        let Some(rarest) = rarest else {
            return matching.extend(self.events.iter().filter(|event| matches(event)));
        };
        let mut next = rarest.last;
        while let Some(occurrence) = next {
            let (event, before) = self.occurrences[occurrence];
            matching.extend(Some(self.events[event]).filter(matches));
            next = before;
        }
    }
}

#[cfg(test)]
mod tests;
