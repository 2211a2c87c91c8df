//! Which requests of a batch can share a commit, and what its answer means for each of them.
//! Pure: no I/O.
//!
//! The server checks a batch against the log as it was before the batch. So a request that would
//! be refused because of an earlier request of the same batch is held: its conditions are sent, its
//! events are not. If the request that stands against it was committed, it is a conflict; if that
//! one was refused itself, the held request is submitted again.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::recent::{Last, Recent};
use super::request::Request;
use crate::{Appended, Error, Position, QueryItem, Tag};

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
        let mut earlier = Earlier::default();
        let holds = batch.iter().enumerate().map(|(index, request)| {
            let hold = earlier.hold(request, batch);
            if hold.is_none() {
                earlier.add(index, request);
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
#[derive(Default)]
struct Earlier<'a> {
    events: Vec<(usize, usize)>,
    by_tag: HashMap<&'a str, Vec<(usize, usize)>>,
    ids: HashSet<Uuid>,
    sources: HashSet<&'a str>,
}

impl<'a> Earlier<'a> {
    fn add(&mut self, index: usize, request: &'a Request) {
        for (number, event) in request.append.events.iter().enumerate() {
            self.events.push((index, number));
            for tag in event.tags() {
                self.by_tag.entry(tag).or_default().push((index, number));
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

    fn hold(&self, request: &Request, batch: &[Request]) -> Option<Hold> {
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
        let mut excluded: Vec<_> = query
            .items()
            .iter()
            .flat_map(|item| self.matching(item, batch))
            .collect();
        excluded.sort_unstable();
        excluded.dedup();
        (!excluded.is_empty()).then_some(Hold::Excluded(excluded))
    }

    fn matching<'s>(
        &'s self,
        item: &'s QueryItem,
        batch: &'s [Request],
    ) -> impl Iterator<Item = (usize, usize)> + 's {
        self.candidates(item)
            .iter()
            .copied()
            .filter(move |&(request, event)| {
                let event = &batch[request].append.events[event];
                item.matches(
                    |wanted| event.is_of_type(wanted),
                    |wanted| event.has_tag(wanted),
                )
            })
    }

    /// The fewest events among which all that match the item are.
    fn candidates(&self, item: &QueryItem) -> &[(usize, usize)] {
        let of_tag = |tag: &Tag| self.by_tag.get(tag.as_str()).map_or(&[][..], Vec::as_slice);
        item.tags()
            .iter()
            .map(of_tag)
            .min_by_key(|events| events.len())
            .unwrap_or(&self.events)
    }
}

#[cfg(test)]
mod tests;
