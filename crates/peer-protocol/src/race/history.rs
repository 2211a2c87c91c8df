//! The history of a race, as the callers and the followers saw it.

use crate::{Condition, QueryItem, Recorded};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A race to run: seeded calls that overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Race {
    /// Of the random numbers. The calls of a caller depend on it and on the answers that it gets.
    pub seed: u64,
    /// Callers at a time.
    pub callers: usize,
    /// Followers, which read the log as it grows.
    pub followers: usize,
    /// Calls of each caller.
    pub calls: usize,
    /// Whether callers repeat appends with the same ids. Only for a store with
    /// [`Promise::Repeats`](crate::Promise).
    pub repeats: bool,
    /// Whether callers give up some appends before the answer, as a client does that is killed. A store
    /// whose calls block answers before that.
    pub drops: bool,
}

/// All that happened in a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The last position of the log before the race; 0 for an empty log.
    pub start: u64,
    /// The steps of all callers.
    pub steps: Vec<Step>,
    /// The events that each follower got, in the order in which it got them.
    pub followed: Vec<Vec<Place>>,
    /// The log after `start`, once all callers had ended.
    pub log: Vec<Entry>,
}

/// One call with its result. The times are ticks of one clock for all callers: a call that ended before
/// another began has the smaller tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The caller.
    pub caller: usize,
    /// When the call began.
    pub begun: u64,
    /// When its result was there.
    pub ended: u64,
    /// The call and its result.
    pub call: Call,
}

/// A call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// An append.
    Append {
        /// The events, in order.
        events: Vec<Draft>,
        /// Its condition.
        condition: Option<Condition>,
        /// Its result.
        outcome: Outcome,
    },
    /// A read of the events after a position.
    Read {
        /// The query; empty for all events.
        items: Vec<QueryItem>,
        /// The position.
        after: u64,
        /// The last position of the log that the read saw.
        head: u64,
        /// The events that it found.
        found: Vec<Place>,
    },
}

/// The result of an append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was acknowledged with the position of its last event.
    Appended(u64),
    /// The condition did not hold.
    Conflict,
    /// Any other error: the events may be in the log or not.
    Unknown(String),
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Its id.
    pub id: Uuid,
    /// Its type.
    pub event_type: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// An event that a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its position.
    pub position: u64,
    /// Its id; `None` if the store keeps no ids.
    pub id: Option<Uuid>,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub place: Place,
    /// Its type.
    pub event_type: String,
    /// Its tags.
    pub tags: Vec<String>,
}

impl From<&Recorded> for Place {
    fn from(event: &Recorded) -> Self {
        Self {
            position: event.position,
            id: event.id,
        }
    }
}

impl From<&Recorded> for Entry {
    fn from(event: &Recorded) -> Self {
        Self {
            place: event.into(),
            event_type: event.event_type.clone(),
            tags: event.tags.clone(),
        }
    }
}
