//! The requests of the published load scripts, which `benches/http` sends.

#[allow(dead_code, reason = "the http benchmarks use the rest of it")]
#[path = "../../../../benches/http/web_app.rs"]
mod scripts;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use scripts::{Drawn, Random, Request, Scenario, ramp};

fn all(scenario: Scenario) -> impl Iterator<Item = Drawn> {
    let mut random = Random::new(1);
    let kinds = scenario.kinds().iter();
    kinds.map(move |kind| kind.with_new_ids(&mut random))
}

fn request(scenario: Scenario, kind: usize) -> Request {
    let mut all = all(scenario);
    all.nth(kind).expect("the script has it").request
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
            Request::Read(_) | Request::Project { .. } => 0,
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
        let pauses = all(scenario).map(|drawn| drawn.pause().as_millis());
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
    let Request::Append { condition, .. } = request(Scenario::Append, 5) else {
        panic!("it is an append");
    };
    let condition = condition.expect("it has a condition");
    assert_eq!(condition[0].types, [events[0].event_type.as_str()]);
    assert_eq!(condition[0].tags, events[0].tags);
}

#[test]
fn ids_are_unique_per_request_and_caller() {
    let mut seen = HashSet::new();
    for seed in 0..50 {
        let mut random = Random::new(seed);
        for _ in 0..50 {
            let drawn = Scenario::Append.kinds()[0].with_new_ids(&mut random);
            let Request::Append { events, .. } = drawn.request else {
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
    let one = body(&request(Scenario::Append, 0));
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
    let two = body(&request(Scenario::Append, 1));
    assert_eq!(two["events"].as_array().unwrap().len(), 2);
    assert_eq!(two["events"][0].get("times"), None);
}

#[test]
fn request_bodies_match_interface() {
    let item = |types: &[&str], tag: &str| json!({ "types": types, "tags": [tag] });
    let append = body(&request(Scenario::AppendIf, 4));
    let transactions = item(&["TransactionInitiated"], "transaction");
    let balances = item(&["BalanceChecked"], "account");
    let expected = json!({ "items": [transactions, balances] });
    assert_eq!(append["condition"]["failIfEventsMatch"], expected);
    let read = body(&request(Scenario::Read, 2));
    let users = item(&["UserCreated", "UserUpdated"], "user");
    let accounts = item(&["AccountOpened", "AccountClosed"], "account");
    let expected = json!({ "items": [users, accounts] });
    assert_eq!(read, json!({ "query": expected }));
    let project = body(&request(Scenario::Project, 3));
    assert_eq!(project["after"], "1000");
    let query = &project["projectors"][0]["query"]["items"][0];
    assert_eq!(query["types"], json!(["LogEntry"]));
    let tag = query["tags"][0].as_str().unwrap();
    assert!(tag.starts_with("service:service-"), "{tag}");
    assert_eq!(project["projectors"][0]["initialState"], 0);
}
