//! Events, queries and conditions, as every peer understands them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The id that the caller gives it; without one, the store may choose one.
    pub id: Option<Uuid>,
    /// Its type.
    pub event_type: String,
    /// Its tags, each `key:value`.
    pub tags: Vec<String>,
    /// A JSON text.
    pub data: Vec<u8>,
}

/// Events of one of the types that carry all the tags. No type means any type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueryItem {
    /// The types.
    pub types: Vec<String>,
    /// The tags.
    pub tags: Vec<String>,
}

impl QueryItem {
    /// Events with this tag.
    pub fn tag(tag: String) -> Self {
        Self {
            types: Vec::new(),
            tags: vec![tag],
        }
    }

    /// Whether an event of this type with these tags is among them.
    pub fn matches(&self, event_type: &str, tags: &[String]) -> bool {
        (self.types.is_empty() || self.types.iter().any(|wanted| wanted == event_type))
            && self.tags.iter().all(|tag| tags.contains(tag))
    }
}

/// The append fails if an event after `after` matches one of the items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The alternatives, at least one.
    pub items: Vec<QueryItem>,
    /// The last position that the caller has seen; without one, no event may match.
    pub after: Option<u64>,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its position.
    pub position: u64,
    /// Its id, if the store keeps ids.
    pub id: Option<Uuid>,
    /// Its type.
    pub event_type: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its data.
    pub data: Vec<u8>,
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The matching events by position.
    pub events: Vec<Recorded>,
    /// The last position of the log when the read saw it: the `after` of a later condition. A store that
    /// does not tell it gives the position of the last event found.
    pub head: Option<u64>,
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The condition does not hold; nothing was written.
    #[error("the condition does not hold")]
    Conflict,
    /// Any other error; the call may be in the log or not.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// Any other error, with its causes.
    pub fn other(error: impl std::error::Error) -> Self {
        Self::Other(with_causes(&error))
    }
}

/// The text of an error and of all its causes. Some drivers say only "db error" themselves.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
