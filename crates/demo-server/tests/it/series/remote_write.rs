//! Prometheus' remote write.

use axum::http::{Method, StatusCode, header};
use prost::Message;
use serde_json::json;

use crate::support::{Answer, Client};

/// The protocol's messages.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<MetricMetadata>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct MetricMetadata {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    metric: String,
    #[prost(string, tag = "4")]
    help: String,
}

fn series(labels: &[(&str, &str)], samples: impl IntoIterator<Item = (i64, f64)>) -> TimeSeries {
    let labels = labels.iter().map(|(name, value)| Label {
        name: (*name).into(),
        value: (*value).into(),
    });
    let samples = samples.into_iter();
    TimeSeries {
        labels: labels.collect(),
        samples: samples
            .map(|(timestamp, value)| Sample { value, timestamp })
            .collect(),
    }
}

fn body(request: &WriteRequest) -> Vec<u8> {
    let message = request.encode_to_vec();
    snap::raw::Encoder::new()
        .compress_vec(&message)
        .expect("compression succeeds")
}

/// Sends a body with Prometheus' headers.
async fn send(client: &Client, body: Vec<u8>) -> Answer {
    let request = client
        .request(Method::POST, "/api/v1/write")
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .header(header::CONTENT_ENCODING, "snappy")
        .header("X-Prometheus-Remote-Write-Version", "0.1.0");
    client.send(request, body).await
}

#[tokio::test]
async fn samples_and_metadata_are_written() {
    let client = Client::start().await;
    let request = WriteRequest {
        timeseries: vec![
            series(
                &[("__name__", "up"), ("job", "node")],
                [(1000, 1.0), (2000, 0.0)],
            ),
            series(
                &[("__name__", "load")],
                (0..10_000).map(|second| (second * 1000, 0.5)),
            ),
        ],
        metadata: vec![MetricMetadata {
            kind: 2,
            metric: "up".into(),
            help: "Whether it answers".into(),
        }],
    };
    let answer = send(&client, body(&request)).await;
    assert_eq!(
        (answer.status, answer.body.len()),
        (StatusCode::NO_CONTENT, 0)
    );
    let found = client.get("/api/v1/query?query=up[1h]&time=60").await.ok();
    assert_eq!(
        found["data"]["result"],
        json!([{"metric": {"__name__": "up", "job": "node"}, "values": [[1, "1"], [2, "0"]]}])
    );
    let count = client
        .get("/api/v1/query?query=count_over_time(load[1d])&time=10000")
        .await;
    assert_eq!(count.ok()["data"]["result"][0]["value"][1], "10000");
    let metadata = client.get("/api/v1/metadata?metric=up").await.ok();
    assert_eq!(
        metadata["data"],
        json!({"up": [{"type": "gauge", "help": "Whether it answers", "unit": ""}]})
    );
    client.stop().await;
}

#[tokio::test]
async fn small_request_is_written() {
    let client = Client::start().await;
    let request = WriteRequest {
        timeseries: vec![series(&[("__name__", "up")], [(1000, 1.0)])],
        metadata: Vec::new(),
    };
    assert_eq!(
        send(&client, body(&request)).await.status,
        StatusCode::NO_CONTENT
    );
    let found = client.get("/api/v1/query?query=up&time=1").await.ok();
    assert_eq!(found["data"]["result"][0]["value"], json!([1, "1"]));
    client.stop().await;
}

/// Prometheus resends after 5xx and not after 4xx.
#[tokio::test]
async fn invalid_samples_are_400() {
    let client = Client::start().await;
    let request = WriteRequest {
        timeseries: vec![
            series(&[("job", "no name")], [(1000, 1.0)]),
            series(&[("__name__", "up")], [(1000, 1.0)]),
        ],
        metadata: Vec::new(),
    };
    let answer = send(&client, body(&request)).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let answer = answer.json();
    assert_eq!(
        (&answer["status"], &answer["errorType"]),
        (&json!("error"), &json!("bad_data"))
    );
    let message = answer["error"].as_str().expect("the message is a string");
    assert!(
        message.starts_with("partial write: sample 1: "),
        "{message}"
    );
    let found = client.get("/api/v1/query?query=up&time=1").await.ok();
    assert_eq!(found["data"]["result"].as_array().map(Vec::len), Some(1));
    client.stop().await;
}

#[tokio::test]
async fn body_or_header_of_another_protocol_is_rejected() {
    let client = Client::start().await;
    let message = snap::raw::Encoder::new()
        .compress_vec(b"no message")
        .expect("compression succeeds");
    for body in [b"nothing of the kind".to_vec(), message, Vec::new()] {
        let answer = send(&client, body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
        assert_eq!(answer.json()["errorType"], "bad_data");
    }
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ] {
        let request = client
            .request(Method::POST, "/api/v1/write")
            .header(name, value);
        let answer = client.send(request, "").await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    client.stop().await;
}

/// Six bytes that claim to decompress to 1 GiB.
#[tokio::test]
async fn claimed_size_of_a_gibibyte_is_413() {
    let client = Client::start().await;
    let bomb = vec![0x80, 0x80, 0x80, 0x80, 0x04, 0x00];
    let answer = send(&client, bomb).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.json()["status"], "error");
    client.stop().await;
}
