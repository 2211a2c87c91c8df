//! InfluxDB's line protocol.

use std::io::Write as _;

use axum::http::{Method, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::{Answer, Client};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("compression succeeds");
    encoder.finish().expect("compression succeeds")
}

async fn send(client: &Client, path: &str, encoding: &str, body: Vec<u8>) -> Answer {
    let request = client.request(Method::POST, path);
    let request = request.header(header::CONTENT_ENCODING, encoding);
    client.send(request, body).await
}

async fn points(client: &Client, metric: &str) -> Value {
    let query = json!({"metric": metric, "start": i64::MIN, "end": i64::MAX});
    client.post("/series/query", &query).await.ok()["points"].clone()
}

#[tokio::test]
async fn fields_become_points_on_both_paths() {
    let client = Client::start().await;
    for (path, time) in [
        ("/write?db=any", "1700000000000000000"),
        ("/write?precision=ms", "1700000001000"),
        ("/api/v2/write?org=o&bucket=b&precision=s", "1700000002"),
        ("/api/v2/write?precision=us", "1700000003000000"),
    ] {
        let lines = format!("cpu,host=a usage=1.5,cores=4i,up=true {time}\n# a comment\n");
        let answer = client.post_bytes(path, lines).await;
        assert_eq!(
            answer.status,
            StatusCode::NO_CONTENT,
            "{path}: {}",
            answer.text()
        );
        assert!(answer.body.is_empty());
    }
    for (metric, value) in [("cpu_usage", 1.5), ("cpu_cores", 4.0), ("cpu_up", 1.0)] {
        let points = points(&client, metric).await;
        let points = points.as_array().expect("the points are an array");
        assert_eq!(points.len(), 4);
        for (second, point) in (0..).zip(points) {
            assert_eq!(point["timestamp"], 1_700_000_000_000_i64 + second * 1000);
            assert_eq!(point["value"].as_f64(), Some(value));
            assert_eq!(point["tags"], json!({"host": "a"}));
        }
    }
    let empty = client.post_bytes("/api/v2/write", "").await;
    assert_eq!(empty.status, StatusCode::NO_CONTENT);
    client.stop().await;
}

#[tokio::test]
async fn line_without_a_time_gets_the_current_time() {
    let client = Client::start().await;
    client.post_bytes("/write", "cpu usage=1").await;
    let points = points(&client, "cpu_usage").await;
    assert!(points[0]["timestamp"].as_i64() > Some(1_700_000_000_000));
    client.stop().await;
}

#[tokio::test]
async fn valid_lines_are_written_and_invalid_ones_named() {
    let client = Client::start().await;
    let lines = "cpu usage=1 1000000\nnonsense\ncpu name=\"text 2000000\ncpu usage=3 3000000";
    let answer = client.post_bytes("/write", lines).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let answer = answer.json();
    assert_eq!(answer["code"], "PARTIAL_WRITE");
    let message = answer["error"].as_str().expect("the message is a string");
    assert!(message.starts_with("partial write: line 2: "), "{message}");
    assert!(message.contains("; line 3: "), "{message}");
    assert!(message.ends_with(" dropped=2"), "{message}");
    assert_eq!(
        points(&client, "cpu_usage").await.as_array().map(Vec::len),
        Some(2)
    );

    let answer = client.post_bytes("/api/v2/write", lines).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let answer = answer.json();
    assert_eq!(answer["code"], "invalid");
    assert_eq!(answer["message"], message);

    let answer = client.post_bytes("/write", "nonsense").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let message = answer.json()["error"].to_string();
    assert!(message.contains("unable to parse: line 1: "), "{message}");
    client.stop().await;
}

/// What Telegraf sends: its output asks for `/ping`, and many inputs have strings.
#[tokio::test]
async fn telegraf_is_served() {
    let client = Client::start().await;
    assert_eq!(client.get("/ping").await.status, StatusCode::NO_CONTENT);
    let lines = "system,host=a load1=0.5,n_cpus=2i 1700000000000000000\n\
                 system,host=a uptime_format=\"1 day, 2:03\" 1700000000000000000\n";
    let written = client.post_bytes("/write?db=telegraf", lines).await;
    assert_eq!(written.status, StatusCode::NO_CONTENT, "{}", written.text());
    let stored = points(&client, "system_load1").await;
    assert_eq!(stored.as_array().map(Vec::len), Some(1));
    let metrics = client.get("/metrics").await.text();
    assert!(
        metrics.contains("\nregistrar_strings_left_out_total 1\n"),
        "{metrics}"
    );
    client.stop().await;
}

#[tokio::test]
async fn invalid_precision_is_named() {
    let client = Client::start().await;
    for path in ["/write?precision=weeks", "/api/v2/write?precision=weeks"] {
        let answer = client.post_bytes(path, "cpu usage=1 1").await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert!(answer.text().contains("precision"), "{}", answer.text());
    }
    client.stop().await;
}

#[tokio::test]
async fn compressed_bodies_are_accepted() {
    let client = Client::start().await;
    let lines: String = (0..5_000)
        .map(|number| format!("cpu usage={number} {number}\n"))
        .collect();
    let path = "/api/v2/write?precision=ms";
    let answer = send(&client, path, "gzip", gzip(lines.as_bytes())).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(
        points(&client, "cpu_usage").await.as_array().map(Vec::len),
        Some(5_000)
    );
    let answer = send(&client, path, "identity", lines.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);

    let damaged = send(&client, path, "gzip", b"cpu usage=1".to_vec()).await;
    assert_eq!(damaged.status, StatusCode::BAD_REQUEST);
    for path in ["/write", path] {
        let other = send(&client, path, "br", b"cpu usage=1".to_vec()).await;
        assert_eq!(other.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    client.stop().await;
}

/// 100 MB of line feeds compress to about 100 kB.
#[tokio::test]
async fn body_that_decompresses_beyond_the_limit_is_413() {
    let client = Client::start().await;
    let bomb = gzip(&vec![b'\n'; 100 << 20]);
    assert!(bomb.len() < 1 << 20);
    for path in ["/write", "/api/v2/write"] {
        let answer = send(&client, path, "gzip", bomb.clone()).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
    client.stop().await;
}
