use super::random::Random;
use super::request::{Drawn, Item, NewEvent, Request};
use serde_json::json;

pub(super) const KINDS: usize = 8;

pub(super) fn make(kind: usize, random: &mut Random) -> Drawn {
    let mut event = |event_type, prefixes: &[&str]| NewEvent::new(event_type, prefixes, random);
    match kind {
        0 => Drawn::new(
            Request::append(vec![event("UserCreated", &["user", "tenant"])]),
            50,
        ),
        1 => {
            let types = ["AccountOpened", "AccountFunded"];
            let events = types.map(|event_type| event(event_type, &["account", "user"]));
            Drawn::new(Request::append(events.into()), 50)
        }
        2 => {
            let item = ["order", "item"];
            let events = vec![
                event("OrderCreated", &["order", "customer"]),
                event("ItemAdded", &item),
                event("ItemAdded", &item),
                event("ItemAdded", &item),
                event("OrderValidated", &["order", "system"]),
            ];
            Drawn::new(Request::append(events), 50)
        }
        3 => {
            let events = (0..25).map(|_| event("LogEntry", &["service", "level", "trace"]));
            Drawn::new(Request::append(events.collect()), 100)
        }
        4 => {
            let never = Item::bare(&["UniqueEvent"], &["unique:should-not-exist"]);
            let events = vec![event("UniqueEvent", &["unique", "test"])];
            Drawn::new(Request::append_if(events, vec![never]), 50)
        }
        5 => Drawn::new(
            Request::Append {
                events: vec![conditional()],
                condition: Some(vec![Item::bare(&[CONDITIONAL], &[CONDITIONAL_TAG])]),
                conflicts: true,
            },
            50,
        ),
        6 => {
            let events = vec![
                event("UserCreated", &["user", "tenant"]),
                event("AccountOpened", &["account", "user"]),
                event("TransactionInitiated", &["transaction", "account"]),
                event("NotificationSent", &["notification", "user"]),
                event("AuditLog", &["audit", "system"]),
            ];
            Drawn::new(Request::append(events), 50)
        }
        _ => {
            let events = (0..50).map(|_| event("SensorReading", &["sensor", "location", "type"]));
            Drawn::new(Request::append(events.collect()), 100)
        }
    }
}

const CONDITIONAL: &str = "ConditionalTestEvent";
const CONDITIONAL_TAG: &str = "conditional:test";

/// Appends the event that makes the condition of kind 5 fail.
pub(super) fn conflicting_event() -> Request {
    Request::append(vec![conditional()])
}

fn conditional() -> NewEvent {
    NewEvent {
        event_type: CONDITIONAL,
        data: json!({ "message": "conditional test event" }).to_string(),
        tags: vec![CONDITIONAL_TAG.to_owned()],
    }
}
