//! Paths that tell about the server and about queries.

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::Client;

async fn data(client: &Client, path: &str) -> Value {
    let answer = client.get(path).await.ok();
    assert_eq!(answer["status"], "success", "{path}");
    assert!(answer.get("warnings").is_none(), "{path}: {answer}");
    answer["data"].clone()
}

#[tokio::test]
async fn query_is_formatted_and_parsed() {
    let client = Client::start().await;
    let query = "query=sum%20by(job)(rate(up%5B5m%5D))";
    let formatted = data(&client, &format!("/api/v1/format_query?{query}")).await;
    assert_eq!(formatted, "sum by (job) (rate(up[5m]))");
    let tree = data(&client, &format!("/api/v1/parse_query?{query}")).await;
    assert_eq!(
        (&tree["type"], &tree["op"]),
        (&json!("aggregation"), &json!("sum"))
    );
    assert_eq!(tree["expr"]["func"]["name"], "rate");
    assert_eq!(tree["expr"]["args"][0]["range"], 300_000);
    for path in ["/api/v1/format_query", "/api/v1/parse_query"] {
        let request = client.request(Method::POST, path);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        client.send(request, query).await.ok();
        let deep = format!("{path}?query={}1{}", "(".repeat(5000), ")".repeat(5000));
        for wrong in [path.to_owned(), format!("{path}?query=sum("), deep] {
            let answer = client.get(&wrong).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST);
            assert_eq!(answer.json()["errorType"], "bad_data");
        }
    }
    client.stop().await;
}

#[tokio::test]
async fn status_tsdb_lists_the_metrics_and_labels_with_most_series() {
    let client = Client::start().await;
    let points: Vec<Value> = (0..300)
        .map(|host| {
            json!({
                "metric": if host < 200 { "wide" } else { "less" },
                "tags": {"host": host.to_string()}, "timestamp": 1_700_000_000_000_i64, "value": 1,
            })
        })
        .collect();
    client.post("/series/write", &json!(points)).await.ok();
    let status = data(&client, "/api/v1/status/tsdb?limit=2").await;
    let by_metric = json!([{"name": "wide", "value": 200}, {"name": "less", "value": 100}]);
    assert_eq!(status["seriesCountByMetricName"], by_metric);
    let by_label = &status["labelValueCountByLabelName"];
    assert_eq!(by_label[0], json!({"name": "host", "value": 300}));
    let by_pair = &status["seriesCountByLabelValuePair"];
    assert!(by_pair[1]["value"].as_u64() >= Some(100), "{by_pair}");
    assert!(status["memoryInBytesByLabelName"][0]["value"].as_u64() > Some(1000));
    let head = &status["headStats"];
    assert!(head["numSeries"].as_u64() >= Some(300), "{head}");
    assert!(head["numLabelPairs"].as_u64() >= Some(302), "{head}");
    assert!(head["chunkCount"].as_u64() >= Some(300), "{head}");
    assert_eq!(head["minTime"], 1_700_000_000_000_i64);
    let answer = client.get("/api/v1/status/tsdb?limit=10001").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    client.stop().await;
}

#[tokio::test]
async fn status_paths_answer_in_prometheus_form() {
    let client = Client::start().await;
    let runtime = data(&client, "/api/v1/status/runtimeinfo").await;
    let time = |name: &str| runtime[name].as_str().unwrap_or_default().to_owned();
    assert!(time("startTime") <= time("serverTime") && time("startTime").ends_with('Z'));
    assert_eq!(runtime["storageRetention"], "1073741824B");
    let flags = data(&client, "/api/v1/status/flags").await;
    assert_eq!(flags["query.timeout"], "30s");
    assert_eq!(flags["web.enable-admin-api"], "false");
    let config = data(&client, "/api/v1/status/config").await;
    assert_eq!(config, json!({"yaml": "global: {}\n"}));
    client.stop().await;
}

#[tokio::test]
async fn rules_alerts_and_targets_are_empty_lists() {
    let client = Client::start().await;
    for (path, empty) in [
        ("/api/v1/rules?type=alert", json!({"groups": []})),
        ("/api/v1/alerts", json!({"alerts": []})),
        (
            "/api/v1/alertmanagers",
            json!({"activeAlertmanagers": [], "droppedAlertmanagers": []}),
        ),
        (
            "/api/v1/targets?state=active",
            json!({"activeTargets": [], "droppedTargets": [], "droppedTargetCounts": {}}),
        ),
        ("/api/v1/targets/metadata?limit=1", json!([])),
    ] {
        assert_eq!(data(&client, path).await, empty, "{path}");
    }
    client.stop().await;
}

#[tokio::test]
async fn probes_answer_text() {
    let client = Client::start().await;
    for (path, text) in [
        ("/-/healthy", "Registrar is healthy.\n"),
        ("/-/ready", "Registrar is ready.\n"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (StatusCode::OK, text)
        );
    }
    client.stop().await;
}

/// A misspelled parameter was ignored in silence.
#[tokio::test]
async fn unknown_parameter_gets_a_warning() {
    let client = Client::start().await;
    for path in [
        "/api/v1/query?query=1",
        "/api/v1/query_range?query=1&start=1&end=2&step=1",
        "/api/v1/series?match%5B%5D=up",
        "/api/v1/labels?limit=0",
        "/api/v1/label/job/values?limit=0",
        "/api/v1/metadata?limit=0",
        "/api/v1/format_query?query=1",
        "/api/v1/parse_query?query=1",
        "/api/v1/status/buildinfo?token=",
        "/api/v1/status/runtimeinfo?token=",
        "/api/v1/status/flags?token=",
        "/api/v1/status/config?token=",
        "/api/v1/status/tsdb?limit=1",
        "/api/v1/rules?type=alert",
        "/api/v1/alerts?token=",
        "/api/v1/alertmanagers?token=",
        "/api/v1/targets?state=any",
        "/api/v1/targets/metadata?limit=1",
    ] {
        data(&client, path).await;
        let answer = client
            .get(&format!("{path}&lookback=5m&lookback=1m"))
            .await
            .ok();
        let warnings = json!(["unknown parameter \"lookback\" was ignored"]);
        assert_eq!(answer["warnings"], warnings, "{path}");
    }
    let answer = client.get("/federate?match%5B%5D=up&start=1").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text().contains("start"), "{}", answer.text());
    client.stop().await;
}
