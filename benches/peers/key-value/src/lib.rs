//! An event store as a program would build it on a key-value engine: the events by position, and keys
//! of a tag with a position that find them.

use peer_protocol::{NewEvent, QueryItem, Recorded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The reads that a snapshot or a write transaction of an engine offers.
pub trait Log {
    /// The engine's error.
    type Error;

    /// The stored form of the event at a position.
    fn event(&self, position: u64) -> Result<Option<Vec<u8>>, Self::Error>;

    /// The positions after `after` of the events with this tag.
    fn positions(&self, tag: &str, after: u64) -> Result<Vec<u64>, Self::Error>;

    /// The last position; 0 for an empty log.
    fn last(&self) -> Result<u64, Self::Error>;
}

/// The events after a position that match one of the items, in order. Without items, all events.
pub fn find<L: Log>(log: &L, items: &[QueryItem], after: u64) -> Result<Vec<Recorded>, L::Error> {
    let mut positions = Vec::new();
    let is_scan = items.is_empty() || items.iter().any(|item| item.tags.is_empty());
    if is_scan {
        positions.extend(after + 1..=log.last()?);
    } else {
        for item in items {
            positions.extend(log.positions(&item.tags[0], after)?);
        }
        positions.sort_unstable();
        positions.dedup();
    }
    let mut found = Vec::with_capacity(positions.len());
    for position in positions {
        if let Some(stored) = log.event(position)? {
            found.extend(matching(items, position, &stored));
        }
    }
    Ok(found)
}

fn matching(items: &[QueryItem], position: u64, stored: &[u8]) -> Option<Recorded> {
    let stored: Stored = serde_json::from_slice(stored).ok()?;
    let mut wanted = items.iter();
    let is_wanted = wanted.any(|item| item.matches(&stored.event_type, &stored.tags));
    (items.is_empty() || is_wanted).then_some(Recorded {
        position,
        id: stored.id,
        event_type: stored.event_type,
        tags: stored.tags,
        data: stored.data.into_bytes(),
    })
}

#[derive(Serialize, Deserialize)]
struct Stored {
    id: Option<Uuid>,
    event_type: String,
    tags: Vec<String>,
    data: String,
}

/// The stored form of an event.
pub fn stored(event: &NewEvent) -> Vec<u8> {
    let stored = Stored {
        id: event.id,
        event_type: event.event_type.clone(),
        tags: event.tags.clone(),
        data: String::from_utf8_lossy(&event.data).into_owned(),
    };
    serde_json::to_vec(&stored).expect("texts have a JSON form")
}
