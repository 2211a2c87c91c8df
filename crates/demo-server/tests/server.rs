//! The server itself: health, errors of no interface, the description.

mod support;

use axum::http::StatusCode;
use support::Client;

#[tokio::test]
async fn health_answers_once_the_stores_do() {
    let client = Client::start().await;
    assert_eq!(client.get("/health").await.text(), r#"{"status":"ok"}"#);
    client.stop().await;
}

#[tokio::test]
async fn an_unknown_path_is_json_with_a_code() {
    let client = Client::start().await;
    let answer = client.get("/nowhere").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.json()["code"], "NOT_FOUND");
    client.stop().await;
}
