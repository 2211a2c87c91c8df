//! `admin/tsdb`.

use axum::http::{Method, StatusCode};
use demo_server::Settings;
use serde_json::{Value, json};

use crate::support::{Answer, Client};

const DELETE: &str = "/api/v1/admin/tsdb/delete_series";

async fn filled(settings: Settings) -> Client {
    let client = Client::with(settings).await;
    let points: Vec<Value> = (0..20_000)
        .map(|second| json!({"metric": "up", "timestamp": second * 1000, "value": second % 7}))
        .collect();
    client.post("/series/write", &json!(points)).await.ok();
    let other = json!({"metric": "other", "timestamp": 0, "value": 1});
    client.post("/series/write", &other).await.ok();
    client
}

async fn post(client: &Client, path: &str) -> Answer {
    client.send(client.request(Method::POST, path), "").await
}

async fn count(client: &Client, metric: &str) -> Value {
    let path = format!("/api/v1/query?query=count_over_time({metric}%5B1d%5D)&time=30000");
    client.get(&path).await.ok()["data"]["result"][0]["value"][1].clone()
}

async fn sample_bytes(client: &Client) -> f64 {
    let text = client.get("/metrics").await.text();
    let line = text
        .lines()
        .find(|line| line.starts_with("tsdb_memory_bytes{part=\"samples\"} "));
    let (_, value) = line
        .and_then(|line| line.rsplit_once(' '))
        .expect("the metric is shown");
    value.parse().expect("the value is a number")
}

#[tokio::test]
async fn deleted_samples_are_gone_and_their_memory_is_free() {
    let folder = tempfile::tempdir().expect("there is a folder for the data");
    let settings = || Settings {
        enable_admin_api: true,
        data: Some(folder.path().to_owned()),
        ..Settings::in_memory()
    };
    let client = filled(settings()).await;
    let answer = post(&client, &format!("{DELETE}?match%5B%5D=up&end=9999.999")).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
    assert_eq!(count(&client, "up").await, "10000");

    let before = sample_bytes(&client).await;
    let answer = post(&client, &format!("{DELETE}?match%5B%5D=up")).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
    assert_eq!(count(&client, "up").await, Value::Null);
    assert_eq!(count(&client, "other").await, "1");
    // 10,000 samples of one byte or more, against those that the server writes meanwhile.
    assert!(sample_bytes(&client).await < before - 2000.0);

    let files = folder.path().join("series");
    let on_disk = || {
        let files = std::fs::read_dir(&files).expect("the folder is there");
        let sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        sizes.sum::<u64>()
    };
    let before = on_disk();
    let answer = post(&client, "/api/v1/admin/tsdb/clean_tombstones").await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
    assert!(on_disk() < before - 10_000, "{} after {before}", on_disk());
    client.stop().await;

    let client = Client::with(settings()).await;
    assert_eq!(count(&client, "up").await, Value::Null);
    assert_eq!(count(&client, "other").await, "1");
    client.stop().await;
}

#[tokio::test]
async fn deleting_needs_the_switch() {
    let client = filled(Settings::in_memory()).await;
    for path in [DELETE, "/api/v1/admin/tsdb/clean_tombstones"] {
        let answer = post(&client, &format!("{path}?match%5B%5D=up")).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        assert!(
            answer.text().contains("--enable-admin-api"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(count(&client, "up").await, "20000");
    client.stop().await;
}

#[tokio::test]
async fn misspelled_parameter_deletes_nothing() {
    let client = filled(Settings {
        enable_admin_api: true,
        ..Settings::in_memory()
    })
    .await;
    for parameters in [
        "",
        "match%5B%5D=up&strat=5",
        "match%5B%5D=up&start=2&end=1",
        "match%5B%5D=up&start=noon",
        "match%5B%5D=rate(up%5B1m%5D)",
    ] {
        let answer = post(&client, &format!("{DELETE}?{parameters}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{parameters}");
    }
    assert_eq!(count(&client, "up").await, "20000");
    let answer = client.get(DELETE).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    client.stop().await;
}
