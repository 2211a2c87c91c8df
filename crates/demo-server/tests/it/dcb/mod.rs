//! The events interface.

mod append;
mod append_ids;
mod cleanup;
mod malformed;
mod postgres;
mod project;
mod read;
mod read_events;
mod states;
mod subscribe;
mod test_data;
mod unread;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Answer, Client};

/// An event of this type with these tags. Its data contains the number.
pub(crate) fn event(event_type: &str, tags: &[&str], number: usize) -> Value {
    json!({ "type": event_type, "data": format!("{{\"n\": {number}}}"), "tags": tags })
}

/// A query with one item.
fn query(types: &[&str], tags: &[&str]) -> Value {
    json!({ "items": [{ "types": types, "tags": tags }] })
}

/// Appends without a condition.
pub(crate) async fn append(client: &Client, events: Value) {
    let answer = client
        .post("/dcb/append", &json!({ "events": events }))
        .await;
    assert_eq!(answer.ok()["appendConditionFailed"], false, "{answer:?}");
}

/// Appends `count` events of type `Counted` with the tag `all`. Events with an even number also
/// have the tag `even`.
pub(crate) async fn append_many(client: &Client, count: usize) {
    for start in (0..count).step_by(1000) {
        let events = (start..count.min(start + 1000)).map(|number| {
            let tags: &[&str] = if number % 2 == 0 {
                &["all", "even"]
            } else {
                &["all"]
            };
            event("Counted", tags, number)
        });
        append(client, events.collect()).await;
    }
}

/// `GET /dcb/read`.
async fn read(client: &Client, query: &Value, options: &Value) -> Vec<Value> {
    let path = format!(
        "/dcb/read?query={}&options={}",
        encoded(query),
        encoded(options)
    );
    let answer = client.get(&path).await.ok();
    answer.as_array().expect("it is an array").clone()
}

/// The positions of the events from [`read`].
pub(crate) async fn positions(client: &Client, query: &Value, options: &Value) -> Vec<u64> {
    let events = read(client, query, options).await;
    let position = |event: &Value| event["position"].as_u64().expect("it is a number");
    events.iter().map(position).collect()
}

/// The event without its id and its time, which differ in each run.
fn without_id_and_time(mut event: Value) -> Value {
    let members = event.as_object_mut().expect("an event is an object");
    let mut text = |name: &str| match members.remove(name) {
        Some(Value::String(text)) => text,
        other => panic!("{name} is {other:?}"),
    };
    text("id").parse::<uuid::Uuid>().expect("the id is a UUID");
    let time: jiff::Timestamp = text("recordedAt").parse().expect("it is a time");
    let age = jiff::Timestamp::now().duration_since(time);
    assert!(age.as_secs().abs() < 3600, "{time}");
    event
}

/// JSON, percent-encoded for a URL.
fn encoded(json: &Value) -> String {
    crate::support::encoded(&json.to_string())
}

/// Asserts a 400 that names the field.
#[track_caller]
fn assert_invalid(answer: &Answer, field: &str) {
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["code"], "INVALID_REQUEST", "{body}");
    assert_eq!(body["details"]["field"], field, "{body}");
    assert!(
        body["error"]
            .as_str()
            .is_some_and(|error| error.contains(field)),
        "{body}"
    );
}
