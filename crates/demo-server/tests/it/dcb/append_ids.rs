//! Repeated appends.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{append, event, positions, query};
use crate::support::Client;

fn with_id(mut event: Value, id: &str) -> Value {
    event["id"] = json!(id);
    event
}

#[tokio::test]
async fn append_with_ids_is_idempotent() {
    let client = Client::start().await;
    for (number, id) in [
        "01234567-89ab-7def-8123-456789abcdef",
        "order-1",
        "{\"any\":\n'text'}",
    ]
    .into_iter()
    .enumerate()
    {
        let tag = format!("t:{number}");
        let events = json!([
            with_id(event("First", &[&tag], 1), id),
            with_id(event("Second", &[&tag], 2), &format!("{id} 2")),
        ]);
        // The condition matches the appended events themselves. A repeated append does not check
        // it.
        let condition = json!({ "failIfEventsMatch": query(&[], &[&tag]) });
        let body = json!({ "events": events, "condition": condition });
        for _ in 0..2 {
            let answer = client.post("/dcb/append", &body).await.ok();
            assert_eq!(answer["appendConditionFailed"], false, "{id}");
        }
    }
    assert_eq!(
        positions(&client, &json!({}), &json!({})).await,
        [1, 2, 3, 4, 5, 6]
    );
    client.stop().await;
}

#[tokio::test]
async fn reused_id_with_other_content_is_a_conflict() {
    let client = Client::start().await;
    append(&client, with_id(event("One", &[], 1), "order-1")).await;
    let fresh = event("One", &[], 1);
    for events in [
        json!(with_id(event("Other", &[], 1), "order-1")),
        json!([
            with_id(fresh.clone(), "order-1"),
            with_id(fresh.clone(), "order-2")
        ]),
        json!([
            with_id(fresh.clone(), "order-3"),
            with_id(fresh.clone(), "order-3")
        ]),
    ] {
        let answer = client
            .post("/dcb/append", &json!({ "events": events }))
            .await;
        assert_eq!(answer.status, StatusCode::CONFLICT, "{events}");
        assert_eq!(answer.json()["code"], "DUPLICATE_EVENT_ID");
        assert!(answer.json()["details"]["id"].is_string());
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1]);
    client.stop().await;
}

#[tokio::test]
async fn empty_id_counts_as_no_id() {
    let client = Client::start().await;
    for _ in 0..2 {
        append(&client, with_id(event("One", &[], 1), "")).await;
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1, 2]);
    client.stop().await;
}
