//! The JSON interface under `/series`.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use axum::response::Response;
use conformance_suite::effort_up_to;
use demo_server::{App, Settings, router};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use tsdb::wire::json::Pieces;

use crate::support::Client;

#[tokio::test]
async fn written_points_are_returned_in_time_order() {
    let client = Client::start().await;
    let one = json!({"metric": "cpu", "timestamp": 2000, "value": 2.5, "tags": {"host": "a"}});
    let written = client.post("/series/write", &one).await;
    assert_eq!(
        (written.status, written.text()),
        (StatusCode::OK, r#"{"written":1}"#.into())
    );
    let more = json!([
        {"metric": "cpu", "timestamp": 3000, "value": 3},
        {"metric": "cpu", "timestamp": 1000, "value": 1},
        {"metric": "cpu", "timestamp": 3000, "value": 4},
        {"metric": "mem", "timestamp": 3000, "value": 9},
    ]);
    assert_eq!(
        client.post("/series/write", &more).await.text(),
        r#"{"written":4}"#
    );
    let found = client
        .post(
            "/series/query",
            &json!({"metric": "cpu", "start": 1000, "end": 3000}),
        )
        .await;
    assert_eq!(found.headers[header::CONTENT_TYPE], "application/json");
    assert_eq!(
        found.ok(),
        json!({
            "metric": "cpu", "start": 1000, "end": 3000, "count": 3,
            "points": [
                {"metric": "cpu", "timestamp": 1000, "value": 1},
                {"metric": "cpu", "timestamp": 2000, "value": 2.5, "tags": {"host": "a"}},
                // The last of two points with the same time stays.
                {"metric": "cpu", "timestamp": 3000, "value": 4},
            ],
        })
    );
    let tagged = json!({"metric": "cpu", "start": 0, "end": 9000, "tags": {"host": "a"}});
    assert_eq!(client.post("/series/query", &tagged).await.ok()["count"], 1);
    client.stop().await;
}

#[tokio::test]
async fn unknown_metric_has_no_points() {
    let client = Client::start().await;
    let body = json!({"metric": "nothing", "start": 0, "end": 1});
    let answer = client.post("/series/query", &body).await;
    assert_eq!(
        answer.text(),
        r#"{"metric":"nothing","start":0,"end":1,"points":[],"count":0}"#
    );
    client.stop().await;
}

#[tokio::test]
async fn points_with_wrong_types_fail_alone() {
    let client = Client::start().await;
    let mixed = json!([
        {"metric": "cpu", "timestamp": 1, "value": "high"},
        {"metric": "cpu", "timestamp": 2, "value": 2},
        {"metric": "cpu", "value": 3},
        7,
    ]);
    let answer = client.post("/series/write", &mixed).await;
    assert_eq!(answer.status, StatusCode::PARTIAL_CONTENT);
    let answer = answer.json();
    assert_eq!(answer["written"], 1);
    let failed = answer["errors"]
        .as_array()
        .expect("the errors are an array")
        .iter();
    let indexes: Vec<_> = failed.map(|error| error["index"].clone()).collect();
    assert_eq!(indexes, [0, 2, 3]);
    assert!(answer["errors"][0]["error"].is_string());
    let none = client.post("/series/write", &json!([{"metric": 1}])).await;
    assert_eq!(none.status, StatusCode::PARTIAL_CONTENT);
    assert_eq!(none.json()["written"], 0);
    client.stop().await;
}

#[tokio::test]
async fn malformed_requests_are_rejected() {
    let client = Client::start().await;
    for body in [
        "",
        "{",
        "7",
        r#"{"metric":"cpu"}"#,
        r#"{"metric":"","timestamp":1,"value":1}"#,
        r#"{"metric":"cpu","timestamp":1.5,"value":1}"#,
    ] {
        let answer = client.post_bytes("/series/write", body).await;
        // Only the engine rejects an empty name, so the point counts as not written.
        let refused = [StatusCode::BAD_REQUEST, StatusCode::PARTIAL_CONTENT];
        assert!(
            refused.contains(&answer.status),
            "{body}: {}",
            answer.text()
        );
    }
    for body in [
        r#"{"start":1,"end":2}"#,
        r#"{"metric":7,"start":1,"end":2}"#,
        r#"{"metric":"cpu","end":2}"#,
        r#"{"metric":"cpu","start":1}"#,
        r#"{"metric":"cpu","start":"1","end":2}"#,
        r#"{"metric":"cpu","start":3,"end":2}"#,
        r#"{"metric":"cpu","start":1,"end":2,"tags":[]}"#,
        "[]",
    ] {
        let answer = client.post_bytes("/series/query", body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}");
        let answer = answer.json();
        assert!(answer["error"].is_string(), "{body}");
        assert_eq!(answer["code"], "INVALID_REQUEST");
    }
    for path in ["/series/write", "/series/query"] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.json()["code"], "METHOD_NOT_ALLOWED");
        assert_eq!(answer.headers[header::ALLOW], "POST");
    }
    client.stop().await;
}

/// Large bodies and responses take another path than small ones.
#[tokio::test]
async fn many_points_are_written_and_returned_like_few() {
    let client = Client::start().await;
    let count = 20_000;
    let points: Vec<_> = (0..count)
        .map(|number| json!({"metric": "load", "timestamp": number, "value": number % 100}))
        .collect();
    let written = client.post("/series/write", &json!(points)).await.ok();
    assert_eq!(written["written"], count);
    let body = json!({"metric": "load", "start": 0, "end": count});
    let answer = client.post("/series/query", &body).await;
    assert!(
        answer.body.len() > 512 * 1024,
        "the response has several pieces"
    );
    assert_eq!(answer.headers[header::TRANSFER_ENCODING], "chunked");
    let answer = answer.ok();
    assert_eq!(answer["count"], count);
    assert_eq!(answer["points"], json!(points));
    client.stop().await;
}

/// A long response is generated piece by piece, never as a whole.
#[tokio::test]
async fn long_response_is_generated_piece_by_piece() {
    let count = effort_up_to(30_000, 300_000);
    let app = App::open(Settings::in_memory())
        .await
        .expect("the stores open");
    let points: Vec<_> = (0..count)
        .map(|number| json!({"metric": "load", "timestamp": number, "value": 1, "tags": {"n": (number % 3).to_string()}}))
        .collect();
    for points in points.chunks(100_000) {
        let written = post(&app, "/series/write", &json!(points)).await;
        assert_eq!(written.status(), StatusCode::OK);
    }
    let query = json!({"metric": "load", "start": 0, "end": count});
    let answer = post(&app, "/series/query", &query).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let mut body = answer.into_body();
    let mut pieces = Vec::new();
    while let Some(piece) = body.frame().await {
        let piece = piece
            .expect("the body is complete")
            .into_data()
            .expect("the frame has data");
        assert!(piece.len() <= Pieces::BYTES, "{} bytes", piece.len());
        pieces.push(piece);
    }
    assert!(pieces.len() > count / 1200, "{} pieces", pieces.len());
    let answer: Value = serde_json::from_slice(&pieces.concat()).expect("the body is JSON");
    assert_eq!(answer["count"], count);
    assert!(answer["points"] == json!(points), "the points differ");
    app.close().await;
}

async fn post(app: &App, path: &str, body: &Value) -> Response {
    let request = Request::post(path).body(Body::from(body.to_string()));
    let answer = router(app)
        .oneshot(request.expect("the request is valid"))
        .await;
    answer.expect("the server answers")
}

#[tokio::test]
async fn series_health_has_its_own_form() {
    let client = Client::start().await;
    assert_eq!(
        client.get("/series/health").await.text(),
        r#"{"status":"healthy"}"#
    );
    client.stop().await;
}

#[tokio::test]
async fn counters_are_json_or_text_depending_on_accept() {
    let client = Client::start().await;
    let points = json!([
        {"metric": "cpu", "timestamp": 1, "value": 1},
        {"metric": "cpu", "timestamp": 2, "value": 1},
    ]);
    client.post("/series/write", &points).await.ok();
    let query = json!({"metric": "cpu", "start": 0, "end": 9});
    client.post("/series/query", &query).await.ok();
    client.get("/api/v1/query?query=cpu").await.ok();
    let counters = client.get("/series/metrics").await.ok();
    assert_eq!(counters["points_written"], 2);
    assert_eq!(counters["queries_served"], 2);
    assert!(counters["uptime_seconds"].as_f64().expect("it is a number") > 0.0);
    for (accept, text) in [
        ("text/plain", true),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1",
            true,
        ),
        ("application/json, text/plain, */*", false),
        ("*/*", false),
    ] {
        let request = client.request(Method::GET, "/series/metrics");
        let answer = client
            .send(request.header(header::ACCEPT, accept), "")
            .await;
        assert_eq!(answer.status, StatusCode::OK);
        if text {
            assert!(
                answer
                    .text()
                    .contains("\nregistrar_points_written_total 2\n"),
                "{accept}"
            );
        } else {
            assert_eq!(answer.json()["points_written"], 2, "{accept}");
        }
    }
    client.stop().await;
}
