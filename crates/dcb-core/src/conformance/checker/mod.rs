//! Concurrent decisions, and a replay of the log that finds those that must not have been made.
//!
//! Any number of workers, in one process or several, run [`work`] on the same log. Each decision
//! counts the events of a random boundary, and appends events that say what it counted, on
//! condition that the count still holds. Afterwards [`check`] replays the log: whatever a decision
//! counted must be what the log holds up to it. It needs no help from the store, and finds lost,
//! torn, repeated and resurrected appends as well.

mod replay;
mod worker;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use replay::{Summary, Violation, check};
pub use worker::{Workload, work};

use crate::{Error, Query, QueryItem};

/// The metadata key of the events that decisions wrote.
const MARK: &str = "checkedDecision";

/// What one worker was told by the store. It can be handed between processes as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The appends that the store acknowledged.
    pub acknowledged: Vec<Acknowledged>,
    /// The ids of the appends that it refused because of a conflict.
    pub conflicts: Vec<Vec<Uuid>>,
    /// The appends that failed with nothing written.
    pub failed: Vec<Failed>,
    /// The ids of the appends whose outcome the store could not tell.
    pub unknown: Vec<Vec<Uuid>>,
    /// The errors of reads, after which nothing was decided.
    pub unread: Vec<String>,
}

/// An append that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// The position of its first event, as told.
    pub first: u64,
    /// The ids of its events.
    pub ids: Vec<Uuid>,
}

/// An append that failed with nothing written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The ids of its events.
    pub ids: Vec<Uuid>,
    /// The message of the error.
    pub error: String,
}

/// What the data of a decision's event says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    /// How many events of the boundary were there before it.
    counted: u64,
    boundary: Boundary,
    /// Which event of its append this is, from 0.
    index: usize,
    /// How many events the append has.
    of: usize,
    /// The id of the first event of the append.
    first_id: Uuid,
}

/// A query that can be stored: for each item its types and its tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Boundary {
    items: Vec<(Vec<String>, Vec<String>)>,
}

impl Boundary {
    fn query(&self) -> Result<Query, Error> {
        let items = self.items.iter().map(|(types, tags)| {
            let types = types
                .iter()
                .map(|name| crate::EventType::new(name.as_str()));
            let tags = tags.iter().map(|text| crate::Tag::new(text.as_str()));
            Ok(QueryItem::new(
                types.collect::<Result<Vec<_>, Error>>()?,
                tags.collect::<Result<Vec<_>, Error>>()?,
            ))
        });
        Query::new(items.collect::<Result<Vec<_>, Error>>()?)
    }
}
