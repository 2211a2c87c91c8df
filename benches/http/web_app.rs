//! The load scripts of the published event store's web application: its four runs, their requests
//! (`fixtures/published/web-app.json`), and the ramp of their users.
//!
//! A user draws one of the run's requests at random, sends it and pauses. Every request has new
//! ids, `prefix-<ms>-<random>`, where the script has a tag `prefix:*`.

use bench::load::{Ramp, Stage};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One of the four runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Appends of 1 to 50 events, an eighth of them under a condition that holds, an eighth under
    /// one that fails.
    Append,
    /// Appends of 1 to 20 events, all but a seventh under conditions that hold.
    AppendIf,
    /// Queries that find nothing, and one query for all events.
    Read,
    /// Counts by one to three projectors.
    Project,
}

/// A request and the pause after it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Drawn {
    #[serde(flatten)]
    pub(crate) request: Request,
    /// The pause of the user after the answer.
    pause_ms: u64,
}

/// A request, for a server or a store.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// `POST /append`.
    Append {
        events: Vec<NewEvent>,
        /// The condition: no event of the log may match these items.
        condition: Option<Vec<Item>>,
        /// True if the condition must fail, false if it must hold.
        #[serde(default)]
        conflicts: bool,
    },
    /// `POST /read`. A query with items must find nothing, one without items every event of the log.
    Read(Vec<Item>),
    /// `POST /project`.
    Project {
        projectors: Vec<Projector>,
        /// The position after which they start.
        after: Option<u64>,
    },
}

/// An event to append.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewEvent {
    #[serde(rename = "type")]
    pub(crate) event_type: String,
    /// JSON; drawn if the script has none.
    #[serde(default)]
    pub(crate) data: String,
    pub(crate) tags: Vec<String>,
    /// The number of such events in the request.
    #[serde(default = "once", skip_serializing)]
    times: usize,
}

fn once() -> usize {
    1
}

/// An item of a query: any of the types, and all of the tags. No event has a tag without a colon.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) types: Vec<String>,
    pub(crate) tags: Vec<String>,
}

/// A count of the events of a query.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Projector {
    /// Its name in the answer.
    pub(crate) id: String,
    pub(crate) items: Vec<Item>,
    /// The state if no event matches.
    #[serde(default = "zero")]
    pub(crate) initial_state: Value,
}

fn zero() -> Value {
    json!(0)
}

impl Scenario {
    /// All runs, in the published order.
    pub(crate) const ALL: [Self; 4] = [Self::Append, Self::AppendIf, Self::Read, Self::Project];

    /// Its name on the published page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Append => "Append",
            Self::AppendIf => "Append-If",
            Self::Read => "Read",
            Self::Project => "Project",
        }
    }

    /// The requests of its script. All are equally likely.
    pub(crate) fn kinds(self) -> &'static [Drawn] {
        static SCRIPTS: LazyLock<HashMap<String, Vec<Drawn>>> = LazyLock::new(|| {
            let json = include_str!("../../fixtures/published/web-app.json");
            serde_json::from_str(json).expect("the scripts are valid")
        });
        &SCRIPTS[self.name()]
    }

    /// Draws a request and the pause after it.
    pub(crate) fn draw(self, random: &mut Random) -> Drawn {
        let kinds = self.kinds();
        let kind = random.0.random_range(0..kinds.len());
        kinds[kind].with_new_ids(random)
    }

    /// The request that prepares the log for the run: the events that make conditions fail. `None`
    /// if the run needs no preparation.
    pub(crate) fn needs(self) -> Option<Request> {
        self.kinds().iter().find_map(|kind| match &kind.request {
            Request::Append {
                events, conflicts, ..
            } if *conflicts => Some(Request::Append {
                events: events.clone(),
                condition: None,
                conflicts: false,
            }),
            _ => None,
        })
    }
}

impl Drawn {
    pub(crate) fn pause(&self) -> Duration {
        Duration::from_millis(self.pause_ms)
    }

    /// The request with an id in place of each `*`.
    pub(crate) fn with_new_ids(&self, random: &mut Random) -> Self {
        let mut drawn = self.clone();
        match &mut drawn.request {
            Request::Append {
                events, condition, ..
            } => {
                let repeated = std::mem::take(events).into_iter();
                *events = repeated
                    .flat_map(|event| vec![event.clone(); event.times])
                    .collect();
                events.iter_mut().for_each(|event| event.renew(random));
                renew(condition.iter_mut().flatten(), random);
            }
            Request::Read(items) => renew(items.iter_mut(), random),
            Request::Project { projectors, .. } => {
                for projector in projectors {
                    projector.id = random.id(&projector.id);
                    renew(projector.items.iter_mut(), random);
                }
            }
        }
        drawn
    }
}

fn renew<'a>(items: impl Iterator<Item = &'a mut Item>, random: &mut Random) {
    items.for_each(|item| random.renew(&mut item.tags));
}

impl NewEvent {
    fn renew(&mut self, random: &mut Random) {
        random.renew(&mut self.tags);
        if self.data.is_empty() {
            let data = json!({
                "timestamp": jiff::Timestamp::now(),
                "id": random.id("event"),
                "value": random.0.random_range(0.0..1_000.0),
            });
            self.data = data.to_string();
        }
    }
}

impl Request {
    /// Its path below the path of the interface.
    pub(crate) fn path(&self) -> &'static str {
        match self {
            Self::Append { .. } => "/append",
            Self::Read(_) => "/read",
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
            Self::Read(items) => json!({ "query": { "items": items } }),
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
    fn body(&self) -> Value {
        json!({
            "id": self.id,
            "query": { "items": self.items },
            "initialState": self.initial_state,
            "transitionFunction": "function(state, event) { return state + 1; }",
        })
    }
}

/// The random draws of a user. The same seed repeats the draws. Ids also contain the time, so they
/// differ from run to run.
#[derive(Debug)]
pub(crate) struct Random(StdRng);

impl Random {
    /// Users with different seeds draw different requests.
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// `prefix-1795222140000-k3j9x0qz7`.
    fn id(&mut self, prefix: &str) -> String {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut id = format!("{prefix}-{}-", now.map_or(0, |since| since.as_millis()));
        let mut digit = |_| char::from(DIGITS[self.0.random_range(0..DIGITS.len())]);
        id.extend((0..9).map(&mut digit));
        id
    }

    /// Replaces each tag `prefix:*` by one like `prefix:prefix-1795222140000-k3j9x0qz7`.
    fn renew(&mut self, tags: &mut [String]) {
        for tag in tags {
            if let Some(prefix) = tag.strip_suffix(":*") {
                *tag = format!("{prefix}:{}", self.id(prefix));
            }
        }
    }
}

/// The ramp of users: 4 min 20 s, up to 100 users.
pub(crate) fn ramp() -> Ramp {
    let stages = [
        (20, 10),
        (30, 10),
        (30, 50),
        (60, 50),
        (30, 100),
        (60, 100),
        (30, 0),
    ];
    Ramp::new(stages.map(|(seconds, users)| Stage {
        takes: Duration::from_secs(seconds),
        users,
    }))
}
