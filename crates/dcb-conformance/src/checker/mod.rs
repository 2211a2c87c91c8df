//! Concurrent decisions, and a replay of the log that finds the decisions that a correct store
//! would have refused.
//!
//! Any number of workers, in one process or several, run [`work`] on the same log. Each decision
//! counts the events that match up to three random queries, its boundaries, one after the other. The
//! decision then appends events that record the counts, on condition that each count still holds.
//! Afterwards [`check`] replays the log and compares every recorded count with the events before it.
//! The check needs the events of the log and the workers' ledgers, but not the store. It also finds
//! lost, torn, repeated and resurrected appends.

mod lanes;
mod replay;
mod worker;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use lanes::decide;
pub use replay::{Summary, Violation, check};
pub use worker::{Workload, work};

use dcb_core::{Error, Query, QueryItem};

/// The metadata key that marks the events of decisions.
const MARK: &str = "checkedDecision";

/// The store's answers to one worker. Processes can exchange it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The appends that the store acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// The ids of the appends that failed with a conflict.
    pub conflicts: Vec<Vec<Uuid>>,
    /// The appends that failed otherwise and wrote nothing.
    pub failed: Vec<Failed>,
    /// The ids of the appends whose outcome the store does not know.
    pub unknown: Vec<Vec<Uuid>>,
    /// The decisions in lanes that were refused by their own closure, or had no events.
    pub refusals: Vec<Refusal>,
    /// The errors of failed reads. Such a decision ends without an append.
    pub unread: Vec<String>,
}

/// An append that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The position of the first event, as the store returned it.
    pub first: u64,
    /// The ids of the events.
    pub ids: Vec<Uuid>,
}

/// The count that a decision without events saw. The log must have had it at some time of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    count: Count,
    /// The heads of the log before and after the call.
    heads: [u64; 2],
}

/// An append that failed and wrote nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The ids of the events.
    pub ids: Vec<Uuid>,
    /// The error message.
    pub error: String,
}

/// The data of a decision's event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    /// The counts that the decision depends on. Empty for an unconditional append.
    counts: Vec<Count>,
    /// The index of this event in its append, from 0.
    index: usize,
    /// The number of events in the append.
    len: usize,
    /// The id of the first event of the append.
    first_id: Uuid,
}

/// The number of events in a boundary before the append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    boundary: Boundary,
    events: u64,
}

/// A query in a form that can be stored: the types and tags of each item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Boundary {
    items: Vec<(Vec<String>, Vec<String>)>,
}

impl Boundary {
    fn query(&self) -> Result<Query, Error> {
        let items = self.items.iter().map(|(types, tags)| {
            let types = types
                .iter()
                .map(|name| dcb_core::EventType::new(name.as_str()));
            let tags = tags.iter().map(|text| dcb_core::Tag::new(text.as_str()));
            Ok(QueryItem::new(
                types.collect::<Result<Vec<_>, Error>>()?,
                tags.collect::<Result<Vec<_>, Error>>()?,
            ))
        });
        Query::new(items.collect::<Result<Vec<_>, Error>>()?)
    }
}
