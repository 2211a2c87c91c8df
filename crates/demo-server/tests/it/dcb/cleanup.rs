use axum::http::{Method, StatusCode};
use demo_server::Settings;
use serde_json::{Value, json};

use super::{append_many, event, positions, query};
use crate::support::Client;

#[tokio::test]
async fn cleanup_deletes_all_events() {
    let client = Client::start().await;
    append_many(&client, 3).await;
    let answer = client.post("/dcb/cleanup", &Value::Null).await;
    assert_eq!(
        answer.ok(),
        json!({ "message": "Database cleaned up successfully", "success": true })
    );
    assert!(positions(&client, &json!({}), &json!({})).await.is_empty());
    append_many(&client, 2).await;
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1, 2]);
    let condition = json!({ "failIfEventsMatch": query(&["Absent"], &[]), "after": 3 });
    let body = json!({ "events": event("Tried", &[], 0), "condition": condition });
    let stale = client.post("/dcb/append", &body).await;
    assert_eq!(stale.json()["code"], "AFTER_BEYOND_HEAD");
    client.stop().await;
}

#[tokio::test]
async fn cleanup_needs_no_body() {
    let client = Client::start().await;
    append_many(&client, 1).await;
    client.post_bytes("/dcb/cleanup", "").await.ok();
    assert!(positions(&client, &json!({}), &json!({})).await.is_empty());
    client.stop().await;
}

#[tokio::test]
async fn cleanup_needs_allow_cleanup() {
    let folder = tempfile::tempdir().unwrap();
    let settings = |allow_cleanup| Settings {
        test_mode: false,
        data: Some(folder.path().to_owned()),
        allow_cleanup,
        ..Settings::in_memory()
    };
    let client = Client::with(settings(false)).await;
    append_many(&client, 3).await;
    let refused = client.post("/dcb/cleanup", &Value::Null).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(refused.json()["code"], "CLEANUP_NOT_ALLOWED");
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1, 2, 3]);
    client.stop().await;
    let client = Client::with(settings(true)).await;
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1, 2, 3]);
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    assert!(positions(&client, &json!({}), &json!({})).await.is_empty());
    client.stop().await;
}

#[tokio::test]
async fn get_cleanup_deletes_nothing() {
    let client = Client::start().await;
    append_many(&client, 1).await;
    let request = client.request(Method::GET, "/dcb/cleanup");
    let refused = client.send(request, "").await;
    assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1]);
    client.stop().await;
}
