//! Decides which requests of a batch can share a commit, and turns the server's answer into a
//! verdict on each request. Pure: no I/O.
//!
//! The server checks every request against the log as it was before the batch. It does not see that
//! an earlier request of the same batch may conflict with a later one. The plan defers the later
//! request: the batch carries its conditions, but not its events. If the earlier request is
//! committed, the deferred one gets a conflict. If the server refuses the earlier request, the
//! deferred one is submitted again.

use std::cmp;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use uuid::Uuid;

use super::request::{Request, Verdict};
use super::tag_key::{self, Keyed};
use crate::{Appended, Bookmark, Error, Position, Query, QueryItem};

/// The verdicts on the requests that the server refused, by index in the batch.
pub(super) type Refusals = HashMap<usize, Verdict>;

#[derive(Debug)]
pub(super) struct Plan {
    /// For each request, why it is deferred; `None` if its events are sent.
    deferrals: Vec<Option<Deferral>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Deferral {
    /// Its conditions match these events of earlier requests, in order of the log.
    Conflicting(Vec<Match>),
    /// An earlier request has one of its ids, or tracks the same source.
    SharesIdOrSource,
}

/// An event of an earlier request that makes a condition fail. The order is that of the log, then
/// that of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    /// The earlier request, by its index in the batch.
    request: usize,
    /// The event, by its index in that request.
    event: usize,
    /// The condition, by its index in the deferred request.
    condition: usize,
}

impl Plan {
    pub(super) fn new(batch: &[Arc<Request>]) -> Self {
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

    /// The verdict on each request, in order, if the batch was appended after this head.
    pub(super) fn verdicts(
        &self,
        batch: &[Arc<Request>],
        head: u64,
        mut refusals: Refusals,
    ) -> Vec<Verdict> {
        let mut last = head;
        let mut verdicts = Vec::with_capacity(batch.len());
        for (index, request) in batch.iter().enumerate() {
            // The server checks deferred requests too, and its refusal is final for them.
            let verdict = match (refusals.remove(&index), &self.deferrals[index]) {
                (Some(refusal), _) => refusal,
                (None, Some(deferral)) => deferral.verdict(&verdicts),
                (None, None) => {
                    let count = request.append.events.len();
                    let first = Position::new(last + 1).expect("an append follows the head");
                    last += count as u64;
                    Verdict::Done(Ok(Appended::contiguous(first, count)))
                }
            };
            verdicts.push(verdict);
        }
        verdicts
    }
}

impl Deferral {
    /// The verdict on the deferred request, given those on the requests before it.
    fn verdict(&self, earlier: &[Verdict]) -> Verdict {
        let Self::Conflicting(matches) = self else {
            // In the next batch the server compares the id or the source with what is committed now.
            return Verdict::Again;
        };
        let conflict = matches.iter().find_map(|found| {
            let Verdict::Done(Ok(appended)) = &earlier[found.request] else {
                return None;
            };
            let position = Position::new(appended.first().get() + found.event as u64)?;
            Some(Error::Conflict {
                position,
                condition: found.condition,
            })
        });
        conflict.map_or(Verdict::Again, |conflict| Verdict::Done(Err(conflict)))
    }
}

/// Why the server refused a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefusalReason {
    /// The number that `dcb.append` returned.
    pub(super) code: i32,
    /// The position that it returned with it, 0 if none.
    pub(super) position: u64,
    /// The index of the condition that failed, if one did.
    pub(super) condition: usize,
}

/// The verdict on a request that the server refused for this reason. The log had this head.
pub(super) fn refusal(reason: RefusalReason, request: &Request, head: u64) -> Verdict {
    let RefusalReason {
        code,
        position,
        condition,
    } = reason;
    let append = &request.append;
    let error = match code {
        1 => return Verdict::Stored,
        2 if let Some(position) = Position::new(position) => Error::PastReplaced { position },
        2 => Error::AfterBeyondHead {
            after: request
                .conditions()
                .filter_map(|(condition, _)| Bookmark::position_of(condition.after))
                .find(|after| after.get() > head)
                .expect("only an after can be beyond the head"),
            head: Position::new(head),
        },
        3 => Error::AlreadyTracked {
            origin: append
                .tracking
                .as_ref()
                .map_or("", |tracking| tracking.source())
                .to_owned(),
            tracked: position,
        },
        _ => Error::Conflict {
            position: Position::new(position).unwrap_or(Position::FIRST),
            condition,
        },
    };
    Verdict::Done(Err(error))
}

/// The requests that the batch is going to append, with their events indexed by tag.
struct EarlierRequests<'a> {
    batch: &'a [Arc<Request>],
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
    fn new(batch: &'a [Arc<Request>]) -> Self {
        // The first condition has no request before it. A lone request therefore indexes nothing.
        let later = || {
            batch
                .iter()
                .skip(1)
                .flat_map(|request| request.conditions())
        };
        let notes_events = later().next().is_some();
        let notes_tags = later().any(|(condition, _)| !condition.fail_if_events_match.is_all());
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
        let (mut matches, mut events) = (Vec::new(), Vec::new());
        for (index, (condition, keys)) in request.conditions().enumerate() {
            self.add_matching(&condition.fail_if_events_match, keys, &mut events);
            matches.extend(events.drain(..).map(|(request, event)| Match {
                request,
                event,
                condition: index,
            }));
        }
        matches.sort_unstable();
        matches.dedup();
        (!matches.is_empty()).then_some(Deferral::Conflicting(matches))
    }

    /// Adds the events that match the query. `keys` are the keys of its tags, item after item.
    fn add_matching(&self, query: &Query, mut keys: &[i64], matching: &mut Vec<(usize, usize)>) {
        if query.is_all() {
            matching.extend_from_slice(&self.events);
        }
        for item in query.items() {
            let (item_keys, rest) = keys.split_at(item.tags().len());
            self.add_matching_item(item, item_keys, matching);
            keys = rest;
        }
    }

    /// Adds the events that match the item. `keys` are the keys of the item's tags.
    fn add_matching_item(
        &self,
        item: &QueryItem,
        keys: &[i64],
        matching: &mut Vec<(usize, usize)>,
    ) {
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
