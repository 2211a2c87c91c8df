//! The log, by position, by id, and by everything that a query can ask for.

use peer_protocol::{Entry, QueryItem};
use std::collections::HashMap;
use uuid::Uuid;

/// The text that stands for a type, or any, and tags. A null character ends each part, and no name has one.
fn key(event_type: Option<&str>, tags: &[&str]) -> String {
    let mut tags = tags.to_vec();
    tags.sort_unstable();
    let parts = [event_type.unwrap_or_default()].into_iter().chain(tags);
    parts.flat_map(|part| [part, "\0"]).collect()
}

/// Positions by key, in order. An event with three tags has sixteen keys, so the index grows with the log.
pub(crate) struct Index {
    positions: HashMap<String, Vec<u64>>,
    /// The first position of each event.
    places: HashMap<Uuid, u64>,
    last: u64,
}

impl Index {
    /// The index of a log whose positions increase.
    pub(crate) fn new(log: &[Entry]) -> Self {
        let mut positions: HashMap<String, Vec<u64>> = HashMap::new();
        let mut places = HashMap::new();
        for entry in log {
            let position = entry.place.position;
            for tags in subsets(&entry.tags) {
                for event_type in [None, Some(entry.event_type.as_str())] {
                    let key = key(event_type, &tags);
                    positions.entry(key).or_default().push(position);
                }
            }
            if let Some(id) = entry.place.id {
                places.entry(id).or_insert(position);
            }
        }
        Self {
            positions,
            places,
            last: log.last().map_or(0, |entry| entry.place.position),
        }
    }

    /// The first position of this event.
    pub(crate) fn place(&self, id: Uuid) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// The first event after a position that matches one of the items.
    pub(crate) fn first_after(&self, items: &[QueryItem], after: u64) -> Option<u64> {
        let firsts = self.lists(items).into_iter().filter_map(|positions| {
            let next = positions.partition_point(|position| *position <= after);
            positions.get(next).copied()
        });
        firsts.min()
    }

    /// The events in a range that match one of the items, in order.
    pub(crate) fn between(&self, items: &[QueryItem], after: u64, upto: u64) -> Vec<u64> {
        let mut found = Vec::new();
        for positions in self.lists(items) {
            let first = positions.partition_point(|position| *position <= after);
            let rest = positions[first..].iter().copied();
            found.extend(rest.take_while(|position| *position <= upto));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The last position of the log; 0 for an empty log.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    fn lists(&self, items: &[QueryItem]) -> Vec<&[u64]> {
        let mut lists = Vec::new();
        for item in items {
            let tags: Vec<&str> = item.tags.iter().map(String::as_str).collect();
            let types = item.types.iter().map(|name| Some(name.as_str()));
            let any = item.types.is_empty().then_some(None);
            for event_type in types.chain(any) {
                let positions = self.positions.get(&key(event_type, &tags));
                lists.extend(positions.map(Vec::as_slice));
            }
        }
        lists
    }
}

/// All subsets of the tags.
fn subsets(tags: &[String]) -> Vec<Vec<&str>> {
    let mut subsets = vec![Vec::new()];
    for tag in tags {
        let with = subsets.iter().map(|subset: &Vec<&str>| {
            let mut subset = subset.clone();
            subset.push(tag.as_str());
            subset
        });
        subsets.extend(with.collect::<Vec<_>>());
    }
    subsets
}
