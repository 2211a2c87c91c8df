//! Which requests of a batch can share a commit, and what its answer means for each of them.
//! Pure: no I/O.
//!
//! The server checks a batch against the log as it was before the batch. So a request that would
//! be refused because of an earlier request of the same batch is held: its conditions are sent, its
//! events are not. If the request that stands against it was committed, it is a conflict; if that
//! one was refused itself, the held request is submitted again.

use std::cmp;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use uuid::Uuid;

use super::recent::{Last, Recent};
use super::request::Request;
use super::tag_key::{self, Keyed};
use crate::{Appended, Error, Position, QueryItem};

/// The answer of the server to a batch.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The last position before the batch, 0 of an empty log.
    pub(super) head: u64,
    pub(super) refusals: HashMap<usize, Refusal>,
}

/// Why the server did not append a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Stored,
    AfterBeyondHead,
    AlreadyTracked { tracked: u64 },
    Conflict { position: Position },
}

/// What is known of a request after the server's answer.
#[derive(Debug)]
pub(super) enum Settled {
    Done(Result<Appended, Error>),
    Stored,
    Again,
}

#[derive(Debug)]
pub(super) struct Plan {
    /// For each request, why it is held; `None` where its events are sent.
    holds: Vec<Option<Hold>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Hold {
    /// Its condition excludes these events of earlier requests: (request, index of the event).
    Excluded(Vec<(usize, usize)>),
    /// An earlier request has one of its ids, or tracks the same source.
    Entangled,
}

impl Plan {
    pub(super) fn of(batch: &[Request]) -> Self {
        let mut earlier = Earlier::of(batch);
        let holds = batch.iter().enumerate().map(|(index, request)| {
            let hold = earlier.hold(request);
            if hold.is_none() && index + 1 < batch.len() {
                earlier.add(index);
            }
            hold
        });
        Self {
            holds: holds.collect(),
        }
    }

    /// Whether the events of this request are sent, or only its conditions.
    pub(super) fn is_sent(&self, request: usize) -> bool {
        self.holds[request].is_none()
    }

    /// What the answer means for each request, in order.
    pub(super) fn settle(&self, batch: &[Request], answer: &Answer) -> Vec<Settled> {
        let firsts = self.first_positions(batch, answer);
        let settled = batch.iter().enumerate().map(|(index, request)| {
            if let Some(refusal) = answer.refusals.get(&index) {
                return refused(*refusal, request, answer.head);
            }
            match &self.holds[index] {
                None => appended(firsts[index], request.append.events.len()),
                Some(hold) => held(hold, &firsts),
            }
        });
        settled.collect()
    }

    /// Notes what was appended.
    pub(super) fn note_appended(&self, batch: &[Request], answer: &Answer, recent: &mut Recent) {
        recent.follow(answer.head);
        let firsts = self.first_positions(batch, answer);
        let appended = batch.iter().zip(firsts).filter(|&(_, first)| first > 0);
        for (request, first) in appended {
            for (position, (_, id, tag_keys)) in (first..).zip(request.events()) {
                recent.note(Last { position, id }, tag_keys);
            }
        }
    }

    /// The first position of each request that was appended; 0 of those that were not.
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

fn held(hold: &Hold, firsts: &[u64]) -> Settled {
    let Hold::Excluded(events) = hold else {
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
                .map_or("", |own| own.source())
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

/// The events that the batch is going to append, findable by tag.
struct Earlier<'a> {
    batch: &'a [Request],
    /// Request and number of each event.
    events: Vec<(usize, usize)>,
    /// Whether a later condition of the batch can ask for an event, and whether for a tag.
    notes_events: bool,
    notes_tags: bool,
    /// Where each tag occurs, whatever the type.
    by_tag: Keyed<Occurrences>,
    /// Each occurrence of a tag: which of `events`, and the occurrence before it.
    occurrences: Vec<(usize, Option<usize>)>,
    ids: HashSet<Uuid>,
    sources: HashSet<&'a str>,
}

/// How often a tag occurs, and the last of its occurrences.
#[derive(Clone, Copy, Default)]
struct Occurrences {
    count: usize,
    last: Option<usize>,
}

impl<'a> Earlier<'a> {
    fn of(batch: &'a [Request]) -> Self {
        // What nobody in the batch can ask for is not noted: of a lone request nothing at all.
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

    /// Adds the tags of the next of `events`.
    fn add_tags(&mut self, tag_keys: &[i64]) {
        for &key in tag_keys {
            let tag = self.by_tag.entry(tag_key::of_any_type(key)).or_default();
            self.occurrences.push((self.events.len(), tag.last));
            tag.count += 1;
            tag.last = Some(self.occurrences.len() - 1);
        }
    }

    fn hold(&self, request: &Request) -> Option<Hold> {
        let tracking = request.append.tracking.as_ref();
        if request.known_ids().any(|id| self.ids.contains(&id))
            || tracking.is_some_and(|tracking| self.sources.contains(tracking.source()))
        {
            return Some(Hold::Entangled);
        }
        let query = &request.append.condition.as_ref()?.fail_if_events_match;
        if query.is_all() {
            return (!self.events.is_empty()).then(|| Hold::Excluded(self.events.clone()));
        }
        let mut excluded = Vec::new();
        let mut keys = &*request.condition_keys;
        for item in query.items() {
            let (own, others) = keys.split_at(item.tags().len());
            self.exclude(item, own, &mut excluded);
            keys = others;
        }
        excluded.sort_unstable();
        excluded.dedup();
        (!excluded.is_empty()).then_some(Hold::Excluded(excluded))
    }

    /// Adds the events that match the item, whose tags have these keys.
    fn exclude(&self, item: &QueryItem, keys: &[i64], excluded: &mut Vec<(usize, usize)>) {
        let matches = |&(request, number): &(usize, usize)| {
            let event = &self.batch[request].append.events[number];
            item.matches(
                |wanted| event.is_of_type(wanted),
                |wanted| event.has_tag(wanted),
            )
        };
        // Of several tags the one that the fewest events have: all that match are among them.
        let mut rarest = None::<&Occurrences>;
        for key in keys {
            let Some(tag) = self.by_tag.get(key) else {
                return;
            };
            rarest =
                Some(rarest.map_or(tag, |rarest| cmp::min_by_key(rarest, tag, |tag| tag.count)));
        }
        let Some(rarest) = rarest else {
            return excluded.extend(self.events.iter().filter(|event| matches(event)));
        };
        let mut next = rarest.last;
        while let Some(occurrence) = next {
            let (event, before) = self.occurrences[occurrence];
            excluded.extend(Some(self.events[event]).filter(matches));
            next = before;
        }
    }
}

#[cfg(test)]
mod tests;
