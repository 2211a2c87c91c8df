//! `--max-new-series`: the answers on each path that writes.

use axum::http::{StatusCode, header};
use demo_server::Settings;
use serde_json::json;
use tsdb::wire::remote_write;
use tsdb::{Labels, Sample};

use crate::support::{Answer, Client};

const MESSAGE: &str = "the limit of 2 new series in 60s is reached";

async fn limited() -> Client {
    let settings = Settings {
        max_new_series: Some(2),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let lines = "m,host=a v=1 1000\nm,host=b v=1 1000";
    let answer = client.post_bytes("/write?precision=ms", lines).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
    client
}

#[track_caller]
fn assert_refused(answer: &Answer) {
    assert_eq!(
        answer.status,
        StatusCode::TOO_MANY_REQUESTS,
        "{}",
        answer.text()
    );
    assert!(answer.text().contains(MESSAGE), "{}", answer.text());
    let seconds = answer.headers[header::RETRY_AFTER]
        .to_str()
        .unwrap_or_default();
    let seconds: u32 = seconds.parse().expect("a number of seconds");
    assert!((1..=60).contains(&seconds), "{seconds}");
}

/// Prometheus sends a request again after a 429 if it is configured to, and never after a 400.
#[tokio::test]
async fn new_series_beyond_the_limit_are_429_and_others_are_written() {
    let client = limited().await;
    let lines = "m,host=a v=2 2000\nm,host=c v=2 2000\nm,host=b v=2 2000";
    let answer = client.post_bytes("/write?precision=ms", lines).await;
    assert_refused(&answer);
    assert_eq!(answer.json()["code"], "TOO_MANY_NEW_SERIES");
    let answer = client.post_bytes("/api/v2/write?precision=ms", lines).await;
    assert_refused(&answer);
    assert_eq!(answer.json()["code"], "too many requests");

    let new = Labels::new("m_v", [("host", "c")]).expect("the labels are valid");
    let samples = [Sample::new(3000, 3.0)];
    let body = remote_write::encode([(&new, samples.as_slice())].into_iter());
    assert_refused(&client.post_bytes("/api/v1/write", body).await);

    let point = json!({ "asDouble": 1.0, "timeUnixNano": "3000000000" });
    let metric = json!({ "name": "n", "gauge": { "dataPoints": [point] } });
    let scope = json!({ "scopeMetrics": [{ "metrics": [metric] }] });
    let body = json!({ "resourceMetrics": [scope] });
    assert_refused(&client.post("/api/v1/otlp/v1/metrics", &body).await);

    let path = "/api/v1/query?time=5&query=count_over_time(m_v[1m])";
    let answer = client.get(path).await.ok();
    let found = answer["data"]["result"].as_array().expect("a vector");
    assert_eq!(found.len(), 2, "{answer}");
    assert!(
        found.iter().all(|series| series["value"][1] == "2"),
        "{answer}"
    );
    client.stop().await;
}

/// The JSON interface lists what it has not written.
#[tokio::test]
async fn json_lists_points_of_new_series_beyond_the_limit() {
    let client = limited().await;
    let point = |host: &str| json!({ "metric": "m_v", "tags": { "host": host }, "timestamp": 9000, "value": 1 });
    let answer = client
        .post("/series/write", &json!([point("a"), point("c")]))
        .await;
    assert_eq!(answer.status, StatusCode::PARTIAL_CONTENT);
    assert!(answer.text().contains(MESSAGE), "{}", answer.text());
    client.stop().await;
}
