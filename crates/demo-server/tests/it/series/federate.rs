//! `/federate`.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{StatusCode, header};
use serde_json::json;

use crate::support::Client;

#[tokio::test]
async fn last_samples_are_prometheus_text() {
    let client = Client::start().await;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = since.expect("the clock is after 1970").as_millis() as i64;
    let points = json!([
        {"metric": "up", "tags": {"job": "a"}, "timestamp": now_ms - 2000, "value": 0},
        {"metric": "up", "tags": {"job": "a"}, "timestamp": now_ms - 1000, "value": 1},
        {"metric": "up", "tags": {"job": "old"}, "timestamp": now_ms - 600_000, "value": 1},
        {"metric": "load", "timestamp": now_ms - 1000, "value": 2.5},
        {"metric": "other", "timestamp": now_ms - 1000, "value": 3},
    ]);
    client.post("/series/write", &points).await.ok();
    let answer = client
        .get("/federate?match%5B%5D=up&match%5B%5D=load&match%5B%5D=up")
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let kind = &answer.headers[header::CONTENT_TYPE];
    assert!(kind.as_bytes().starts_with(b"text/plain; version=0.0.4"));
    let time = now_ms - 1000;
    let text = format!("load 2.5 {time}\nup{{job=\"a\"}} 1 {time}\n");
    assert_eq!(answer.text(), text);
    let none = client.get("/federate").await;
    assert_eq!((none.status, none.text().as_str()), (StatusCode::OK, ""));
    let wrong = client.get("/federate?match%5B%5D=rate(up%5B1m%5D)").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    client.stop().await;
}
