//! Remembers the tags of the events that this process appended last. With them the writer answers a
//! condition that asks only about those events, without a search on the server. Pure: no I/O.
//!
//! Most conditions come from a recent decision, so that their `after` is at most a few hundred
//! events behind the head. As long as the last event noted here is the last event of the log, all
//! events since the first one noted are here, because positions have no gaps and the log never
//! changes.
//!
//! A condition has a probe for each type of each item. A probe is settled if the noted tags show that
//! no event since `after` can match. Otherwise it is open.
//!
//! Invariant: an answer from memory counts only if the server confirms, under the log's lock, that
//! the last event noted (position and id) is the last event of the log. If another process has
//! appended since, the server looks up every condition. Tested by `recent_tags.rs` and
//! `optimistic.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use uuid::Uuid;

use super::request::{Request, Verdict};
use super::tag_key::{self, Keyed};
use crate::Bookmark;

/// Tags per generation: about 4,000 events with two tags.
const TAGS_PER_GENERATION: usize = 8192;

/// The number of last events whose ids are known.
const MAX_IDS: usize = 8192;

/// Keys with a lookup count. At this number all counts start again from 0, to bound the memory.
const MAX_COUNTED_KEYS: usize = 8192;

/// Consecutive uncontended batches after which the writer expects the next batch to be uncontended
/// too. A higher number makes failed optimistic appends rarer.
const UNCONTENDED_BATCHES: u32 = 16;

/// Batches after a lookup that left a probe open, during which the writer does not try another one. A higher
/// number makes failed optimistic appends rarer.
const BATCHES_AFTER_OPEN: u32 = 16;

/// The tags of the last events, in two generations. New tags go to the newer generation. When it is
/// full, it becomes the older one, the previous older one is forgotten, and an empty newer one
/// begins. So the memory is bounded, and the last [`TAGS_PER_GENERATION`] tags are always known.
#[derive(Debug, Default)]
pub(super) struct RecentTags {
    older: Generation,
    newer: Generation,
    last: Option<EventRef>,
    /// The ids of the last events, up to `last`.
    ids: VecDeque<Uuid>,
    /// Batches without contention since the last contended one.
    uncontended: u32,
    /// Batches since a lookup of one key last left its probe open.
    batches_since_open: u32,
    undo_log: UndoLog,
    /// For each key, the number of open probes with several tags that asked for it.
    lookups: Keyed<u32>,
}

/// The state before the batch that was noted last.
#[derive(Debug, Default)]
struct UndoLog {
    last: Option<EventRef>,
    /// The number of events of the batch.
    events: usize,
    /// Each key that the batch changed, with the position it had before.
    keys: Vec<(i64, Option<u64>)>,
}

/// The position and id of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventRef {
    pub(super) position: u64,
    pub(super) id: Uuid,
}

/// The lookup for one probe of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// The key that is likely the rarest; `None` if the probe has no tag.
    pub(super) key: Option<i64>,
    /// True if no event since `after` can match, provided that the last event noted is still the
    /// last of the log.
    pub(super) is_settled: bool,
}

#[derive(Debug, Default)]
struct Generation {
    /// Only events after this position are in the generation.
    base: u64,
    tags: usize,
    /// The last position of each key: under the event's type, and under any type.
    last: Keyed<u64>,
}

impl RecentTags {
    /// Forgets everything, for example after a batch whose outcome is unknown.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The last event noted.
    pub(super) fn last(&self) -> Option<EventRef> {
        self.last
    }

    /// The last event noted, if an optimistic append after it is likely to succeed: recent batches
    /// were uncontended.
    pub(super) fn likely_head(&self) -> Option<EventRef> {
        self.last
            .filter(|_| self.uncontended >= UNCONTENDED_BATCHES)
    }

    /// Notes that another writer, or a conflict, stopped an optimistic append.
    pub(super) fn mark_contended(&mut self) {
        self.uncontended = 0;
    }

    /// Whether looking up one key of a probe with several tags is likely to settle it: the
    /// last such lookups did.
    pub(super) fn likely_settles(&self) -> bool {
        self.batches_since_open >= BATCHES_AFTER_OPEN
    }

    /// Notes that an event has the key that was looked up, but does not match.
    pub(super) fn note_left_open(&mut self) {
        self.batches_since_open = 0;
    }

    /// Notes the tags of the events that were appended after this head.
    pub(super) fn note_appended(
        &mut self,
        head: u64,
        batch: &[Arc<Request>],
        verdicts: &[Verdict],
    ) {
        self.begin_batch(head);
        for (request, verdict) in batch.iter().zip(verdicts) {
            let Verdict::Done(Ok(appended)) = verdict else {
                continue;
            };
            for (position, (_, id, tag_keys)) in (appended.first().get()..).zip(request.events()) {
                self.note(EventRef { position, id }, tag_keys);
            }
        }
    }

    /// Begins a batch whose events were appended after this head.
    fn begin_batch(&mut self, head: u64) {
        self.uncontended = self.uncontended.saturating_add(1);
        self.batches_since_open = self.batches_since_open.saturating_add(1);
        if self.last.is_none_or(|last| last.position != head) {
            // Another process appended events in between. Their tags are unknown, so nothing from
            // before them can be answered any more.
            self.forget();
            self.older.base = head;
            self.newer.base = head;
        } else if self.newer.tags >= TAGS_PER_GENERATION {
            std::mem::swap(&mut self.older, &mut self.newer);
            self.newer.clear(head);
        }
        self.undo_log.last = self.last;
        self.undo_log.events = 0;
        self.undo_log.keys.clear();
    }

    /// Notes the next event of the batch.
    fn note(&mut self, event: EventRef, keys: &[i64]) {
        for &tag in keys {
            for key in [tag, tag_key::any_type(tag)] {
                let before = self.newer.last.insert(key, event.position);
                self.undo_log.keys.push((key, before));
            }
        }
        self.newer.tags += keys.len();
        self.undo_log.events += 1;
        self.last = Some(event);
        if self.ids.len() == MAX_IDS {
            self.ids.pop_front();
        }
        self.ids.push_back(event.id);
    }

    /// Whether the bookmark's event is in the log, provided that the last event noted is.
    pub(super) fn knows(&self, bookmark: Bookmark) -> bool {
        let is_of_last = |last: EventRef| {
            let back = last.position.checked_sub(bookmark.position.get())?;
            let index = self
                .ids
                .len()
                .checked_sub(usize::try_from(back).ok()? + 1)?;
            self.ids.get(index).copied()
        };
        bookmark.accepts(self.last.and_then(is_of_last))
    }

    /// Removes the batch that was noted last, because it was not appended after all.
    pub(super) fn undo(&mut self) {
        let UndoLog { last, events, keys } = std::mem::take(&mut self.undo_log);
        // Each tag has two entries: under its type and under any type.
        self.newer.tags -= keys.len() / 2;
        // Newest first, so that a key changed twice ends with its oldest position.
        for (key, before) in keys.into_iter().rev() {
            match before {
                Some(position) => self.newer.last.insert(key, position),
                None => self.newer.last.remove(&key),
            };
        }
        self.ids.truncate(self.ids.len().saturating_sub(events));
        self.last = last;
        self.uncontended = self.uncontended.saturating_sub(1);
        self.batches_since_open = self.batches_since_open.saturating_sub(1);
    }

    /// The lookup for one probe. An event matches only if it has all of `keys`.
    pub(super) fn probe(&self, after: u64, keys: impl Iterator<Item = i64> + Clone) -> Probe {
        let absent = keys.clone().find(|&key| self.is_absent_since(after, key));
        Probe {
            key: absent.or_else(|| keys.min_by_key(|&key| self.frequency(key))),
            is_settled: absent.is_some(),
        }
    }

    /// Whether no event since `after` has the key. False also means "not known".
    fn is_absent_since(&self, after: u64, key: i64) -> bool {
        let is_covered =
            after >= self.older.base && self.last.is_some_and(|last| after <= last.position);
        let occurs_in = |generation: &Generation| {
            generation
                .last
                .get(&key)
                .is_some_and(|&position| position > after)
        };
        // Every position in the older generation is at or before the newer generation's base.
        is_covered
            && !occurs_in(&self.newer)
            && (after >= self.newer.base || !occurs_in(&self.older))
    }

    /// Counts a lookup of all these keys by an open probe.
    pub(super) fn count_lookup(&mut self, keys: impl Iterator<Item = i64>) {
        if self.lookups.len() >= MAX_COUNTED_KEYS {
            self.lookups.clear();
        }
        for key in keys {
            let count = self.lookups.entry(key).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// An estimate of how common a key is: its last position (0 if no noted event has it), then, for
    /// a key without a position, its lookups. A key with an old last position is rarer than one with
    /// a recent position. Lookups order the others: conditions of one tenant all ask for the
    /// tenant's tag, but each asks for a different order's tag.
    fn frequency(&self, key: i64) -> (u64, u32) {
        match self.last_position(key) {
            0 => (0, self.lookups.get(&key).copied().unwrap_or(0)),
            position => (position, 0),
        }
    }

    /// The last position noted for the key; 0 if none is.
    fn last_position(&self, key: i64) -> u64 {
        let generations = [&self.newer, &self.older];
        let mut found = generations
            .iter()
            .filter_map(|generation| generation.last.get(&key));
        found.next().copied().unwrap_or(0)
    }
}

impl Generation {
    fn clear(&mut self, base: u64) {
        self.base = base;
        self.tags = 0;
        self.last.clear();
    }
}

#[cfg(test)]
mod tests;
