//! The calls of Grafana's Prometheus data source, in its order.

use axum::http::{Method, header};
use serde_json::{Value, json};

use crate::support::Client;

async fn post(client: &Client, path: &str, form: &'static str) -> Value {
    let request = client.request(Method::POST, path);
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    client.send(request, form).await.ok()
}

#[tokio::test]
async fn grafana_data_source_can_be_added_browsed_and_drawn() {
    let client = Client::start().await;
    let points: Vec<Value> = (0..10)
        .map(|step| {
            let timestamp = (1_700_000_000 + step * 15) * 1000_i64;
            json!({"metric": "requests_total", "tags": {"job": "web"}, "timestamp": timestamp, "value": step * 30})
        })
        .collect();
    client.post("/series/write", &json!(points)).await.ok();

    // The button "Save & test".
    let built = client.get("/api/v1/status/buildinfo").await.ok();
    assert_eq!(built["status"], "success");
    let version = built["data"]["version"]
        .as_str()
        .expect("the version is a string");
    let parts: Vec<u32> = version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    assert!(parts.len() == 3 && parts[0] >= 2, "{version}");
    let health = post(&client, "/api/v1/query", "query=1%2B1&time=1700000000.123").await;
    assert_eq!(
        health["data"],
        json!({"resultType": "scalar", "result": [1_700_000_000.123, "2"]})
    );

    // The query editor.
    let range = "start=1700000000&end=1700000150";
    let names = client
        .get(&format!("/api/v1/label/__name__/values?{range}"))
        .await
        .ok();
    assert_eq!(names["data"], json!(["requests_total"]));
    let metadata = client.get("/api/v1/metadata?limit=40000").await.ok();
    assert!(metadata["data"].is_object());
    let labels = post(
        &client,
        "/api/v1/labels",
        "start=1700000000&end=1700000150&match%5B%5D=%7B__name__%3D%22requests_total%22%7D",
    )
    .await;
    assert_eq!(labels["data"], json!(["__name__", "job"]));
    let values = client
        .get(&format!(
            "/api/v1/label/job/values?{range}&match%5B%5D=requests_total"
        ))
        .await
        .ok();
    assert_eq!(values["data"], json!(["web"]));

    // A panel.
    let drawn = post(
        &client,
        "/api/v1/query_range",
        "query=rate%28requests_total%5B1m%5D%29&start=1700000060&end=1700000120&step=15",
    )
    .await;
    assert_eq!(drawn["data"]["resultType"], "matrix");
    let drawn = &drawn["data"]["result"][0];
    assert_eq!(drawn["metric"], json!({"job": "web"}));
    assert_eq!(drawn["values"].as_array().map(Vec::len), Some(5));
    // The counter grows by 90 in 45 s, and the range is 60 s long. Prometheus computes in this
    // order and has the same rounding error.
    let rate = (90.0 * (60.0 / 45.0 / 60.0)).to_string();
    assert_eq!(drawn["values"][0], json!([1_700_000_060, rate]));
    client.stop().await;
}
