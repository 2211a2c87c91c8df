//! The requests of the published load scripts, which `benches/http` sends.

#[allow(dead_code, reason = "the http benchmarks use the rest of it")]
#[path = "../../../../benches/http/web_app/mod.rs"]
mod scripts;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use scripts::request::Projector;
use scripts::{Drawn, Found, Item, NewEvent, Random, Request, Scenario, ramp};

fn all(scenario: Scenario) -> impl Iterator<Item = Drawn> {
    let mut random = Random::new(1);
    (0..scenario.kinds()).map(move |kind| scenario.make(kind, &mut random))
}

#[test]
fn ramp_matches_published_script() {
    assert_eq!(ramp().length(), Duration::from_secs(260));
    assert_eq!(ramp().most_users(), 100);
    assert_eq!(ramp().user_time(), Duration::from_secs(14_050));
}

#[test]
fn requests_have_published_event_counts() {
    let events = |scenario| {
        let events = all(scenario).map(|drawn| match drawn.request {
            Request::Append { events, .. } => events.len(),
            Request::Read { .. } | Request::Project { .. } => 0,
        });
        events.collect::<Vec<_>>()
    };
    assert_eq!(events(Scenario::Append), [1, 2, 5, 25, 1, 1, 5, 50]);
    assert_eq!(events(Scenario::AppendIf), [1, 1, 2, 1, 2, 1, 20]);
    assert_eq!(events(Scenario::Read), [0; 8]);
    assert_eq!(events(Scenario::Project), [0; 6]);
}

#[test]
fn users_have_published_pauses() {
    let pauses_ms = |scenario| {
        let pauses = all(scenario).map(|drawn| drawn.pause.as_millis());
        pauses.collect::<Vec<_>>()
    };
    assert_eq!(
        pauses_ms(Scenario::Append),
        [50, 50, 50, 100, 50, 50, 50, 100]
    );
    assert_eq!(pauses_ms(Scenario::AppendIf), [50, 50, 50, 50, 50, 50, 100]);
    assert_eq!(pauses_ms(Scenario::Read), [20, 50, 50, 20, 20, 20, 20, 50]);
    assert_eq!(pauses_ms(Scenario::Project), [50, 100, 100, 50, 50, 100]);
}

#[test]
fn conflicting_event_of_append_run_is_prepared() {
    let conflicts = |scenario| {
        let drawn = all(scenario);
        drawn
            .filter(|drawn| {
                matches!(
                    drawn.request,
                    Request::Append {
                        conflicts: true,
                        ..
                    }
                )
            })
            .count()
    };
    assert_eq!(conflicts(Scenario::Append), 1);
    assert_eq!(conflicts(Scenario::AppendIf), 0);
    let Some(Request::Append { events, .. }) = Scenario::Append.needs() else {
        panic!("nothing stands against it");
    };
    let Request::Append { condition, .. } = Scenario::Append.make(5, &mut Random::new(2)).request
    else {
        panic!("it is an append");
    };
    let condition = condition.expect("it has a condition");
    assert_eq!(condition[0].types, [events[0].event_type]);
    assert_eq!(condition[0].tags, events[0].tags);
}

#[test]
fn ids_are_unique_per_request_and_caller() {
    let mut seen = HashSet::new();
    for seed in 0..50 {
        let mut random = Random::new(seed);
        for _ in 0..50 {
            let Request::Append { events, .. } = Scenario::Append.make(0, &mut random).request
            else {
                panic!("it is an append");
            };
            assert!(seen.insert(events[0].tags[0].clone()), "{:?}", events[0]);
        }
    }
}

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body()).expect("JSON")
}

#[test]
fn single_event_is_no_list() {
    let mut random = Random::new(1);
    let mut event = || NewEvent::new("UserCreated", &["user", "tenant"], &mut random);
    let one = body(&Request::append(vec![event()]));
    assert_eq!(one["events"]["type"], "UserCreated");
    let data: Value = serde_json::from_str(one["events"]["data"].as_str().unwrap()).unwrap();
    assert!(data["timestamp"].as_str().unwrap().ends_with('Z'), "{data}");
    assert!(
        data["id"].is_string() && data["value"].is_number(),
        "{data}"
    );
    let tag = one["events"]["tags"][1].as_str().unwrap();
    assert!(tag.starts_with("tenant:tenant-"), "{tag}");
    assert_eq!(one.get("condition"), None);
    let two = body(&Request::append(vec![event(), event()]));
    assert_eq!(two["events"].as_array().unwrap().len(), 2);
}

#[test]
fn request_bodies_match_interface() {
    let mut random = Random::new(1);
    let event = NewEvent::new("UserCreated", &["user"], &mut random);
    let item = || Item::bare(&["UserCreated"], &["user"]);
    let expected = json!({ "items": [{ "types": ["UserCreated"], "tags": ["user"] }] });
    let append = body(&Request::append_if(vec![event], vec![item()]));
    assert_eq!(append["condition"]["failIfEventsMatch"], expected);
    let read = body(&Request::Read {
        items: vec![item()],
        found: Found::Nothing,
    });
    assert_eq!(read, json!({ "query": expected }));
    let project = body(&Request::Project {
        projectors: vec![Projector::new("counter", item(), &mut random)],
        after: Some(1_000),
    });
    assert_eq!(project["after"], "1000");
    assert_eq!(project["projectors"][0]["query"], expected);
    assert_eq!(project["projectors"][0]["initialState"], 0);
}
