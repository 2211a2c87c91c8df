use super::random::Random;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// A request and the pause after it.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// The request.
    pub(crate) request: Request,
    /// The pause of the user after the answer.
    pub(crate) pause: Duration,
}

impl Drawn {
    pub(super) fn new(request: Request, pause_ms: u64) -> Self {
        Self {
            request,
            pause: Duration::from_millis(pause_ms),
        }
    }
}

/// A request, for a server or a store.
#[derive(Debug)]
pub(crate) enum Request {
    /// `POST /append`.
    Append {
        /// The new events.
        events: Vec<NewEvent>,
        /// The condition: no event of the log may match these items.
        condition: Option<Vec<Item>>,
        /// True if the condition must fail, false if it must hold.
        conflicts: bool,
    },
    /// `POST /read`.
    Read {
        /// The query; none for all events.
        items: Vec<Item>,
        /// The events that it must find.
        found: Found,
    },
    /// `POST /project`.
    Project {
        /// The projectors.
        projectors: Vec<Projector>,
        /// The position after which they start.
        after: Option<u64>,
    },
}

/// An event to append.
#[derive(Debug, Serialize)]
pub(crate) struct NewEvent {
    /// Its type.
    #[serde(rename = "type")]
    pub(crate) event_type: &'static str,
    /// JSON.
    pub(crate) data: String,
    /// Its tags.
    pub(crate) tags: Vec<String>,
}

/// An item of a query: any of the types, and all of the tags.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    /// The types.
    pub(crate) types: Vec<&'static str>,
    /// The tags.
    pub(crate) tags: Vec<String>,
}

/// The events that a read must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// None: no event has its tags.
    Nothing,
    /// Every event of the log.
    Everything,
}

/// A count of the events of a query.
#[derive(Debug)]
pub(crate) struct Projector {
    /// Its name in the answer.
    pub(crate) id: String,
    /// Its query.
    pub(crate) items: Vec<Item>,
    /// The state if no event matches.
    pub(crate) initial_state: Value,
}

impl NewEvent {
    /// An event with one new tag per prefix, and data like the published scripts'.
    pub(crate) fn new(event_type: &'static str, prefixes: &[&str], random: &mut Random) -> Self {
        let data = json!({
            "timestamp": jiff::Timestamp::now(),
            "id": random.id("event"),
            "value": random.value(),
        });
        Self {
            event_type,
            data: data.to_string(),
            tags: random.tags(prefixes),
        }
    }
}

impl Item {
    pub(crate) fn new(types: &[&'static str], tags: Vec<String>) -> Self {
        Self {
            types: types.to_vec(),
            tags,
        }
    }

    /// An item with one new tag per prefix.
    pub(crate) fn fresh(types: &[&'static str], prefixes: &[&str], random: &mut Random) -> Self {
        Self::new(types, random.tags(prefixes))
    }

    /// An item with tags without a colon. No event carries such tags.
    pub(crate) fn bare(types: &[&'static str], tags: &[&str]) -> Self {
        Self::new(types, tags.iter().map(|tag| (*tag).to_owned()).collect())
    }
}

impl Request {
    pub(crate) fn append(events: Vec<NewEvent>) -> Self {
        Self::Append {
            events,
            condition: None,
            conflicts: false,
        }
    }

    /// An append under a condition that holds.
    pub(crate) fn append_if(events: Vec<NewEvent>, condition: Vec<Item>) -> Self {
        Self::Append {
            events,
            condition: Some(condition),
            conflicts: false,
        }
    }

    /// Its path below the path of the interface.
    pub(crate) fn path(&self) -> &'static str {
        match self {
            Self::Append { .. } => "/append",
            Self::Read { .. } => "/read",
            Self::Project { .. } => "/project",
        }
    }

    /// Its body.
    pub(crate) fn body(&self) -> String {
        let body = match self {
            Self::Append {
                events, condition, ..
            } => {
                // The published scripts send a single event without a list.
                let events = match events.as_slice() {
                    [event] => json!(event),
                    events => json!(events),
                };
                let mut body = json!({ "events": events });
                if let Some(items) = condition {
                    body["condition"] = json!({ "failIfEventsMatch": { "items": items } });
                }
                body
            }
            Self::Read { items, .. } => json!({ "query": { "items": items } }),
            Self::Project { projectors, after } => {
                let projectors = projectors.iter().map(Projector::body);
                let mut body = json!({ "projectors": projectors.collect::<Vec<_>>() });
                if let Some(position) = after {
                    body["after"] = json!(position.to_string());
                }
                body
            }
        };
        body.to_string()
    }
}

impl Projector {
    /// A projector with an id made from `name` and the initial state 0.
    pub(crate) fn new(name: &str, item: Item, random: &mut Random) -> Self {
        Self {
            id: random.id(name),
            items: vec![item],
            initial_state: json!(0),
        }
    }

    fn body(&self) -> Value {
        json!({
            "id": self.id,
            "query": { "items": self.items },
            "initialState": self.initial_state,
            "transitionFunction": "function(state, event) { return state + 1; }",
        })
    }
}
