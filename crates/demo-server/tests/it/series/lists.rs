//! `series`, `labels`, `label/{name}/values`, `metadata`.

use axum::http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::Client;

/// `old{host="a"}` at 1,000 s, `new{host="b",dc="x"}` and `new{host="c"}` at 2,000 s.
async fn filled() -> Client {
    let client = Client::start().await;
    let points = json!([
        {"metric": "old", "tags": {"host": "a"}, "timestamp": 1_000_000, "value": 1},
        {"metric": "new", "tags": {"host": "b", "dc": "x"}, "timestamp": 2_000_000, "value": 1},
        {"metric": "new", "tags": {"host": "c"}, "timestamp": 2_000_000, "value": 1},
    ]);
    client.post("/series/write", &points).await.ok();
    client
}

async fn data(client: &Client, path: &str) -> Value {
    let answer = client.get(path).await.ok();
    assert_eq!(answer["status"], "success");
    answer["data"].clone()
}

/// Excludes the server's own series.
const ONLY: &str = "match[]=old&match[]=new";

#[tokio::test]
async fn series_are_listed_by_selector_and_range() {
    let client = filled().await;
    let old = json!({"__name__": "old", "host": "a"});
    let b = json!({"__name__": "new", "host": "b", "dc": "x"});
    let c = json!({"__name__": "new", "host": "c"});
    for (query, found) in [
        ("match[]=old", json!([old])),
        ("match[]=new&match[]=new%7Bhost=%22c%22%7D", json!([b, c])),
        ("match[]=%7Bhost=~%22a|c%22%7D", json!([c, old])),
        ("match[]=old&match[]=new&start=1500", json!([b, c])),
        ("match[]=old&match[]=new&end=1500", json!([old])),
        (
            "match[]=old&start=1970-01-01T00:16:40Z&end=1000",
            json!([old]),
        ),
        ("match[]=old&start=1001&end=1999", json!([])),
        ("match[]=none", json!([])),
    ] {
        assert_eq!(
            data(&client, &format!("/api/v1/series?{query}")).await,
            found,
            "{query}"
        );
    }
    let request = client.request(Method::POST, "/api/v1/series");
    let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let posted = client.send(request, "match%5B%5D=old").await.ok();
    assert_eq!(posted["data"], json!([old]));
    client.stop().await;
}

#[tokio::test]
async fn label_names_and_values_are_listed() {
    let client = filled().await;
    for (path, found) in [
        (
            format!("/api/v1/labels?{ONLY}"),
            json!(["__name__", "dc", "host"]),
        ),
        (
            format!("/api/v1/labels?{ONLY}&end=1500"),
            json!(["__name__", "host"]),
        ),
        (
            format!("/api/v1/label/host/values?{ONLY}"),
            json!(["a", "b", "c"]),
        ),
        (
            format!("/api/v1/label/host/values?{ONLY}&start=1500&end=3000"),
            json!(["b", "c"]),
        ),
        (
            format!("/api/v1/label/__name__/values?{ONLY}"),
            json!(["new", "old"]),
        ),
        ("/api/v1/label/dc/values".to_owned(), json!(["x"])),
        ("/api/v1/label/none/values".to_owned(), json!([])),
    ] {
        assert_eq!(data(&client, &path).await, found, "{path}");
    }
    let names = data(&client, "/api/v1/labels").await;
    assert!(
        names
            .as_array()
            .expect("the names are an array")
            .contains(&json!("dc"))
    );
    client.stop().await;
}

#[tokio::test]
async fn limit_truncates_a_list_with_a_warning() {
    let client = filled().await;
    let cut = client
        .get(&format!("/api/v1/label/host/values?{ONLY}&limit=2"))
        .await
        .ok();
    assert_eq!(cut["data"], json!(["a", "b"]));
    assert_eq!(cut["warnings"], json!(["results truncated due to limit"]));
    let whole = client
        .get(&format!("/api/v1/label/host/values?{ONLY}&limit=0"))
        .await
        .ok();
    assert_eq!(whole["data"].as_array().map(Vec::len), Some(3));
    assert!(whole.get("warnings").is_none());
    client.stop().await;
}

#[tokio::test]
async fn invalid_parameters_are_bad_data() {
    let client = filled().await;
    for path in [
        "/api/v1/series",
        "/api/v1/series?match[]=",
        "/api/v1/series?match[]=up[5m]",
        "/api/v1/series?match[]=%7B%7D",
        "/api/v1/labels?match[]=rate(up[1m])",
        "/api/v1/labels?start=2&end=1",
        "/api/v1/labels?limit=many",
        "/api/v1/label/host/values?start=noon",
        "/api/v1/metadata?limit=-1",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(answer.json()["errorType"], "bad_data", "{path}");
    }
    let answer = client.post("/api/v1/metadata", &json!({})).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.json()["status"], "error");
    client.stop().await;
}
