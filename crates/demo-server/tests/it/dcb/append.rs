use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{append, append_many, event, positions, query, read};
use crate::support::Client;

/// Appends with a condition. Returns whether the condition failed.
async fn fails(client: &Client, condition: Value) -> bool {
    let body = json!({ "events": event("Tried", &["tried"], 0), "condition": condition });
    let answer = client.post("/dcb/append", &body).await.ok();
    assert!(
        answer["durationInMicroseconds"].as_u64() >= Some(1),
        "{answer}"
    );
    answer["appendConditionFailed"]
        .as_bool()
        .expect("appendConditionFailed is a boolean")
}

#[tokio::test]
async fn one_or_several_events_are_appended_in_order() {
    let client = Client::start().await;
    append(&client, event("One", &["k:v"], 1)).await;
    append(
        &client,
        json!([event("Two", &[], 2), event("Three", &["k:v"], 3)]),
    )
    .await;
    let events = read(&client, &json!({}), &json!({})).await;
    assert_eq!(
        events,
        [
            json!({ "type": "One", "tags": ["k:v"], "data": "{\"n\": 1}", "position": 1 }),
            json!({ "type": "Two", "tags": [], "data": "{\"n\": 2}", "position": 2 }),
            json!({ "type": "Three", "tags": ["k:v"], "data": "{\"n\": 3}", "position": 3 }),
        ]
    );
    client.stop().await;
}

#[tokio::test]
async fn data_and_tags_are_returned_unchanged() {
    let client = Client::start().await;
    let texts = [
        "{\"b\": 1, \"a\": 12345678901234567890, \"a\": 2}",
        "not JSON",
        "",
        "line\nbreak \u{1F980} \"quoted\" back\\slash \u{2028} \u{0}",
    ];
    for text in texts {
        append(
            &client,
            json!({ "type": "T\"\\", "data": text, "tags": ["a\"b", "a\\b", "no colon"] }),
        )
        .await;
    }
    let events = read(&client, &query(&["T\"\\"], &["a\"b", "a\\b"]), &json!({})).await;
    for (event, text) in events.iter().zip(texts) {
        assert_eq!(event["data"], text);
        assert_eq!(event["tags"], json!(["a\"b", "a\\b", "no colon"]));
    }
    assert_eq!(events.len(), texts.len());
    client.stop().await;
}

#[tokio::test]
async fn event_type_of_255_bytes_is_appended_and_found() {
    let client = Client::start().await;
    let longest = "com.example.courses.".repeat(13)[..255].to_owned();
    append(&client, event(&longest, &[], 1)).await;
    let found = read(&client, &query(&[&longest], &[]), &json!({})).await;
    assert_eq!(found[0]["type"], longest);
    client.stop().await;
}

#[tokio::test]
async fn failed_condition_is_answered_with_200_and_writes_nothing() {
    let client = Client::start().await;
    let taken = json!({ "failIfEventsMatch": query(&["Tried"], &["tried"]) });
    assert!(!fails(&client, taken.clone()).await);
    assert!(fails(&client, taken).await);
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1]);
    client.stop().await;
}

#[tokio::test]
async fn after_is_exclusive_and_may_be_a_number_or_a_string() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let condition =
        |after: Value| json!({ "failIfEventsMatch": query(&[], &["all"]), "after": after });
    for before in [json!(0), json!("0"), json!(1), json!("1"), Value::Null] {
        assert!(fails(&client, condition(before)).await);
    }
    assert!(!fails(&client, condition(json!(2))).await);
    assert!(!fails(&client, condition(json!("3"))).await);
    client.stop().await;
}

#[tokio::test]
async fn query_without_items_matches_every_event() {
    let client = Client::start().await;
    append_many(&client, 1).await;
    for all in [
        json!({}),
        json!({ "items": [] }),
        json!({ "items": null }),
        json!({ "items": [{}] }),
        json!({ "items": [{ "types": [], "tags": null }] }),
        json!({ "items": [{ "types": ["Absent"] }, {}] }),
    ] {
        assert!(
            fails(&client, json!({ "failIfEventsMatch": all })).await,
            "{all}"
        );
    }
    let absent = json!({ "failIfEventsMatch": query(&["Absent"], &[]) });
    assert!(!fails(&client, absent).await);
    client.stop().await;
}

#[tokio::test]
async fn every_item_of_a_condition_is_checked() {
    let client = Client::start().await;
    append(&client, event("Second", &["b"], 0)).await;
    let items = json!({ "items": [{ "types": ["First"], "tags": ["a"] }, { "tags": ["b"] }] });
    assert!(fails(&client, json!({ "failIfEventsMatch": items })).await);
    client.stop().await;
}

#[tokio::test]
async fn after_beyond_the_head_is_a_conflict() {
    let client = Client::start().await;
    append_many(&client, 3).await;
    let condition = json!({ "failIfEventsMatch": query(&["Absent"], &[]), "after": 4 });
    let body = json!({ "events": event("Tried", &[], 0), "condition": condition });
    let answer = client.post("/dcb/append", &body).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let answer = answer.json();
    assert_eq!(answer["code"], "AFTER_BEYOND_HEAD");
    assert_eq!(answer["details"], json!({ "after": 4, "head": 3 }));
    assert_eq!(positions(&client, &json!({}), &json!({})).await.len(), 3);
    client.stop().await;
}

#[tokio::test]
async fn isolation_header_is_ignored() {
    let client = Client::start().await;
    let body =
        json!({ "events": event("Tried", &[], 0), "condition": { "failIfEventsMatch": {} } });
    for failed in [false, true] {
        let request = client.request(Method::POST, "/dcb/append");
        let request = request.header("X-Append-If-Isolation", "SERIALIZABLE");
        let answer = client.send(request, body.to_string()).await.ok();
        assert_eq!(answer["appendConditionFailed"], failed);
    }
    client.stop().await;
}

/// Many concurrent appends with the same condition, through all layers of the server.
#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_many_concurrent_conditions_holds() {
    let client = Client::start().await;
    for round in 0..10 {
        let tag = format!("seat:{round}");
        let condition = json!({ "failIfEventsMatch": query(&[], &[&tag]) });
        let body = json!({ "events": event("Taken", &[&tag], 0), "condition": condition });
        let tries = (0..20).map(|_| client.post("/dcb/append", &body));
        let answers = futures_util::future::join_all(tries).await;
        let won = answers
            .iter()
            .filter(|answer| answer.ok()["appendConditionFailed"] == false);
        assert_eq!(won.count(), 1, "in round {round}");
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await.len(), 10);
    client.stop().await;
}
