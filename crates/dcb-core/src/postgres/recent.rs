//! The tags of the events that this process appended last, to answer conditions that ask only
//! about those. Pure: no I/O.
//!
//! Most conditions are of a decision that was made a moment ago: their `after` is a few hundred
//! events behind the head. If the last event of the log is the last one noted here, then every
//! event since the first one noted was noted too, for positions have no gaps and the log never
//! changes. The server makes sure under the log's lock that this event is the last, so nothing rests
//! on what is remembered: where another process appended in between, each condition is looked up.

use uuid::Uuid;

use super::tag_key::{self, Keyed};

/// Tags noted before the older half is forgotten: about 4,000 events with two tags.
const TAGS_OF_A_HALF: usize = 8192;

/// Keys whose asking is counted before the counts begin anew.
const KEYS_ASKED: usize = 8192;

/// After so many batches with nothing in the way, the next is taken to be one of them. The higher,
/// the rarer is an attempt in vain.
const UNDISTURBED: u32 = 16;

/// The last events, in two halves: the older one is forgotten when the newer one is full.
#[derive(Debug, Default)]
pub(super) struct Recent {
    older: Half,
    newer: Half,
    last: Option<Last>,
    /// How many batches came right behind the one before them since one was in vain.
    undisturbed: u32,
    before: Before,
    /// How often a key was asked for together with others, by conditions that were not settled.
    asked: Keyed<u32>,
}

/// What was known before the batch that was noted last.
#[derive(Debug, Default)]
struct Before {
    last: Option<Last>,
    /// The keys that it changed, and where each occurred last.
    keys: Vec<(i64, Option<u64>)>,
}

/// The last event that was noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) position: u64,
    pub(super) id: Uuid,
}

/// What to ask the server for one alternative of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Glance {
    /// The key that is likely the rarest, `None` where there is no tag.
    pub(super) key: Option<i64>,
    /// The next, `None` where there are no two tags.
    pub(super) other: Option<i64>,
    /// Whether no event since `after` can match, if the last event is still the last.
    pub(super) settled: bool,
}

#[derive(Debug, Default)]
struct Half {
    /// The events up to here are not in it.
    base: u64,
    tags: usize,
    /// Where each key occurs last, under the event's type and under any.
    last: Keyed<u64>,
}

impl Recent {
    /// Forgets everything, as after a batch whose outcome is not known.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The last event noted.
    pub(super) fn last(&self) -> Option<Last> {
        self.last
    }

    /// The last event noted, if it is likely to be the log's last, with nothing in the way of the next
    /// batch: so it was for a while.
    pub(super) fn likely_head(&self) -> Option<Last> {
        self.last.filter(|_| self.undisturbed >= UNDISTURBED)
    }

    /// Something was in the way of a batch.
    pub(super) fn disturbed(&mut self) {
        self.undisturbed = 0;
    }

    /// Prepares for the events of a batch that was appended behind this head.
    pub(super) fn follow(&mut self, head: u64) {
        self.undisturbed = self.undisturbed.saturating_add(1);
        if self.last.is_none_or(|last| last.position != head) {
            self.forget();
            self.older.base = head;
            self.newer.base = head;
        } else if self.newer.tags >= TAGS_OF_A_HALF {
            std::mem::swap(&mut self.older, &mut self.newer);
            self.newer.clear(head);
        }
        self.before.last = self.last;
        self.before.keys.clear();
    }

    /// Notes the next event.
    pub(super) fn note(&mut self, event: Last, keys: &[i64]) {
        for &tag in keys {
            for key in [tag, tag_key::of_any_type(tag)] {
                let before = self.newer.last.insert(key, event.position);
                self.before.keys.push((key, before));
            }
        }
        self.newer.tags += keys.len();
        self.last = Some(event);
    }

    /// Forgets the batch that was noted last: it was not appended after all.
    pub(super) fn take_back(&mut self) {
        let Before { last, keys } = std::mem::take(&mut self.before);
        self.newer.tags -= keys.len() / 2;
        for (key, before) in keys.into_iter().rev() {
            match before {
                Some(position) => self.newer.last.insert(key, position),
                None => self.newer.last.remove(&key),
            };
        }
        self.last = last;
        self.undisturbed = self.undisturbed.saturating_sub(1);
    }

    /// What to ask for one alternative with these keys, of which an event must carry all.
    pub(super) fn glance(&self, after: u64, mut keys: impl Iterator<Item = i64> + Clone) -> Glance {
        match keys.clone().find(|&key| self.is_absent_since(after, key)) {
            Some(absent) => Glance {
                key: Some(absent),
                other: keys.find(|&key| key != absent),
                settled: true,
            },
            None => self.rarest(keys),
        }
    }

    /// Whether it is known that no event since `after` has the key.
    fn is_absent_since(&self, after: u64, key: i64) -> bool {
        let is_covered =
            after >= self.older.base && self.last.is_some_and(|last| after <= last.position);
        let is_met_in = |half: &Half| {
            half.last
                .get(&key)
                .is_some_and(|&position| position > after)
        };
        // What the older half has is not after the base of the newer.
        is_covered
            && !is_met_in(&self.newer)
            && (after >= self.newer.base || !is_met_in(&self.older))
    }

    /// The key that was met least lately is taken to be the rarest; of those that were not met, the
    /// one that fewest conditions asked for: they share the tag of a tenant, but each has its own of
    /// an order.
    fn rarest(&self, keys: impl Iterator<Item = i64>) -> Glance {
        let (mut least, mut other) = (None::<(Rank, i64)>, None::<(Rank, i64)>);
        for key in keys {
            let rank = self.rank(key);
            if least.is_none_or(|(lowest, _)| rank < lowest) {
                other = least.replace((rank, key));
            } else if other.is_none_or(|(second, _)| rank < second) {
                other = Some((rank, key));
            }
        }
        Glance {
            key: least.map(|(_, key)| key),
            other: other.map(|(_, key)| key),
            settled: false,
        }
    }

    /// Counts that a condition asked for all of these keys and was not settled.
    pub(super) fn asked(&mut self, keys: impl Iterator<Item = i64>) {
        if self.asked.len() >= KEYS_ASKED {
            self.asked.clear();
        }
        for key in keys {
            let asked = self.asked.entry(key).or_default();
            *asked = asked.saturating_add(1);
        }
    }

    fn rank(&self, key: i64) -> Rank {
        let met = self.last_position(key);
        let asked = match met {
            0 => self.asked.get(&key).copied().unwrap_or(0),
            _ => 0,
        };
        Rank { met, asked }
    }

    /// Where the key was noted last, 0 if it was not.
    fn last_position(&self, key: i64) -> u64 {
        let halves = [&self.newer, &self.older];
        let mut found = halves.iter().filter_map(|half| half.last.get(&key));
        found.next().copied().unwrap_or(0)
    }
}

/// The lower, the rarer a key is likely to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    met: u64,
    /// Of keys that were not met.
    asked: u32,
}

impl Half {
    fn clear(&mut self, base: u64) {
        self.base = base;
        self.tags = 0;
        self.last.clear();
    }
}

#[cfg(test)]
mod tests;
