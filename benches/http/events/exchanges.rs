//! The requests to the server, and the checks of its answers.

use crate::loads::SameAnswer;
use crate::support::content::Content;
use crate::support::rows;
use crate::web_app::{Item, Random, Request, Scenario};
use bench::load::{Answer, Exchange, Exchanges};
use bench::{BoxError, Outcome};
use bytes::Bytes;
use course_enrollment::workload;
use dcb_core::{AppendCondition, Event, Query, QueryItem};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The path of the event interface on the demo server.
const DCB: &str = "/dcb";

/// The requests that a user of a run draws.
pub(crate) fn drawn(scenario: Scenario, user: usize) -> Exchanges {
    let mut random = Random::new(user as u64 + 1);
    Box::new(move || {
        let drawn = scenario.draw(&mut random);
        let pause = drawn.pause();
        exchange(drawn.request).pause(pause)
    })
}

/// A request of a run as an exchange.
pub(crate) fn exchange(request: Request) -> Exchange {
    let exchange = Exchange::post(format!("{DCB}{}", request.path()), request.body());
    exchange.judge(move |answer| judge(&request, &body(answer)?))
}

fn body(answer: &Answer) -> Result<Value, BoxError> {
    Ok(serde_json::from_slice(&answer.body)?)
}

fn judge(request: &Request, answer: &Value) -> Result<Outcome, BoxError> {
    let unexpected = || Err(format!("{}: unexpected answer: {answer}", request.path()).into());
    match request {
        Request::Append { conflicts, .. } => match answer["appendConditionFailed"].as_bool() {
            Some(true) if *conflicts => Ok(Outcome::Refused),
            Some(false) if !conflicts => Ok(Outcome::Success),
            _ => unexpected(),
        },
        Request::Read(items) => match answer["numberOfMatchingEvents"].as_u64() {
            Some(found) if found == expected(items) => Ok(Outcome::Success),
            _ => unexpected(),
        },
        Request::Project { projectors, .. } => {
            // No event matches, so each projector returns its initial state.
            let states = projectors.iter();
            let mut states = states.map(|one| (&answer["states"][&one.id], &one.initial_state));
            match states.all(|(state, initial)| state == initial) {
                true => Ok(Outcome::Success),
                false => unexpected(),
            }
        }
    }
}

/// The number of events that a read of a run finds.
pub(crate) fn expected(items: &[Item]) -> u64 {
    match items.is_empty() {
        true => workload::PAST_EVENTS as u64,
        false => 0,
    }
}

/// An operation that callers repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    Append,
    AppendIf,
    Count,
    Read,
}

/// The number of past events that the reads find.
pub(crate) const FOUND: u64 = 34;

impl Single {
    pub(crate) const ALL: [Self; 4] = [Self::Append, Self::AppendIf, Self::Count, Self::Read];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Append => "Append 1 event",
            Self::AppendIf => "Append-If 1 event",
            Self::Count => "POST /read of 34 events",
            Self::Read => "GET /read of 34 events",
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Append => "1 event of the domain",
            Self::AppendIf => {
                "1 event of the domain, under the condition that no event has its two tags"
            }
            Self::Count => {
                "34 of 100 events by type and tag, answered with their number; all callers send \
                 the same request, and requests that wait for a connection share one count"
            }
            Self::Read => {
                "34 of 100 events by type and tag, answered with all their content; all callers \
                 send the same request, and requests that wait for a connection share one read"
            }
        }
    }

    pub(crate) fn events(self) -> u64 {
        match self {
            Self::Append | Self::AppendIf => 1,
            Self::Count | Self::Read => FOUND,
        }
    }

    pub(crate) fn content(self) -> Content {
        match self {
            Self::Append | Self::AppendIf => Content::Empty,
            Self::Count | Self::Read => Content::Past,
        }
    }

    /// The requests of a caller.
    pub(crate) fn exchanges(self, _caller: usize) -> Exchanges {
        let workload = rows::workload();
        match self {
            Self::Append => Box::new(move || append(&workload.course(), None)),
            Self::AppendIf => Box::new(move || {
                let (event, condition) = workload.course_and_condition();
                append(&event, Some(&condition))
            }),
            // The request is built once per caller and shared as `Bytes`.
            Self::Count => {
                let body = Bytes::from(json!({ "query": query_json(&read_query()) }).to_string());
                Box::new(move || {
                    let exchange = Exchange::post(format!("{DCB}/read"), body.clone());
                    exchange.judge(counted)
                })
            }
            Self::Read => {
                let query = encoded(&query_json(&read_query()).to_string());
                let path = format!("{DCB}/read?query={query}");
                let same = SameAnswer::new(|events| elements(events) == Some(FOUND));
                Box::new(move || same.judge(Exchange::get(path.clone())))
            }
        }
    }
}

/// The query of the reads.
pub(crate) fn read_query() -> Query {
    workload::course_query()
}

fn append(event: &Event, condition: Option<&AppendCondition>) -> Exchange {
    let mut body = json!({ "events": {
        "type": event.event_type(),
        "data": String::from_utf8_lossy(event.data()),
        "tags": event.tags().collect::<Vec<_>>(),
    } });
    if let Some(condition) = condition {
        let query = query_json(&condition.fail_if_events_match);
        body["condition"] = json!({ "failIfEventsMatch": query });
    }
    let exchange = Exchange::post(format!("{DCB}/append"), body.to_string());
    exchange.judge(
        |answer| match self::body(answer)?["appendConditionFailed"].as_bool() {
            Some(false) => Ok(Outcome::Success),
            _ => Err("an append was refused".into()),
        },
    )
}

fn query_json(query: &Query) -> Value {
    let item = |item: &QueryItem| {
        let types: Vec<&str> = item.types().iter().map(|one| one.as_str()).collect();
        let tags: Vec<&str> = item.tags().iter().map(|one| one.as_str()).collect();
        json!({ "types": types, "tags": tags })
    };
    json!({ "items": query.items().iter().map(item).collect::<Vec<_>>() })
}

/// The length of a JSON list.
fn elements(list: &Value) -> Option<u64> {
    list.as_array().map(|list| list.len() as u64)
}

fn counted(answer: &Answer) -> Result<Outcome, BoxError> {
    match body(answer)?["numberOfMatchingEvents"].as_u64() {
        Some(FOUND) => Ok(Outcome::Success),
        other => Err(format!("{other:?} events were counted").into()),
    }
}

/// The text as a value of a query string.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}
