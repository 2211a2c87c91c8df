//! Version 2 of Prometheus' remote write, and exemplars.

use axum::http::{Method, StatusCode, header};
use prost::Message;
use serde_json::json;

use crate::support::{Answer, Client};

/// The protocol's messages.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, repeated, tag = "4")]
    symbols: Vec<String>,
    #[prost(message, repeated, tag = "5")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(uint32, repeated, tag = "1")]
    labels_refs: Vec<u32>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    histograms: Vec<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    exemplars: Vec<Exemplar>,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Exemplar {
    #[prost(uint32, repeated, tag = "1")]
    labels_refs: Vec<u32>,
    #[prost(double, tag = "2")]
    value: f64,
    #[prost(int64, tag = "3")]
    timestamp: i64,
}

const V2: &str = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

async fn send(client: &Client, timeseries: Vec<TimeSeries>) -> Answer {
    let symbols = ["", "__name__", "latency", "job", "a", "trace_id", "5f0c"];
    let request = Request {
        symbols: symbols.map(str::to_owned).to_vec(),
        timeseries,
    };
    let body = snap::raw::Encoder::new()
        .compress_vec(&request.encode_to_vec())
        .expect("compression succeeds");
    let request = client
        .request(Method::POST, "/api/v1/write")
        .header(header::CONTENT_TYPE, V2)
        .header(header::CONTENT_ENCODING, "snappy")
        .header("X-Prometheus-Remote-Write-Version", "2.0.0");
    client.send(request, body).await
}

/// `latency{job="a"}` with one sample and one exemplar.
fn latency() -> TimeSeries {
    TimeSeries {
        labels_refs: vec![1, 2, 3, 4],
        samples: vec![Sample {
            value: 0.5,
            timestamp: 2000,
        }],
        exemplars: vec![Exemplar {
            labels_refs: vec![5, 6],
            value: f64::INFINITY,
            timestamp: 1500,
        }],
        ..TimeSeries::default()
    }
}

/// The numbers of samples, histograms and exemplars in the headers.
fn written(answer: &Answer) -> [Option<&str>; 3] {
    ["samples", "histograms", "exemplars"].map(|kind| {
        let name = format!("x-prometheus-remote-write-{kind}-written");
        answer.headers.get(name)?.to_str().ok()
    })
}

#[tokio::test]
async fn answer_counts_what_was_written() {
    let client = Client::start().await;
    let answer = send(&client, vec![latency()]).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "{}", answer.text());
    assert_eq!(written(&answer), [Some("1"), Some("0"), Some("1")]);
    let found = client.get("/api/v1/query?query=latency&time=2").await.ok();
    assert_eq!(found["data"]["result"][0]["value"], json!([2, "0.5"]));
    client.stop().await;
}

/// An error used to lose the headers that its handler had set.
#[tokio::test]
async fn partial_write_counts_what_was_written() {
    let client = Client::start().await;
    let unnamed = TimeSeries {
        labels_refs: vec![3, 4],
        ..latency()
    };
    let native = TimeSeries {
        histograms: vec![Vec::new()],
        ..latency()
    };
    let answer = send(&client, vec![unnamed, native]).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(written(&answer), [Some("1"), Some("0"), Some("1")]);
    let error = answer.json();
    assert_eq!(error["errorType"], "bad_data");
    let message = error["error"].as_str().expect("the message is a string");
    assert!(
        message.contains("sample 3: native histograms are not stored"),
        "{message}"
    );
    assert!(message.ends_with("dropped=2"), "{message}");
    let metrics = client.get("/metrics").await.text();
    assert!(
        metrics.contains("\nregistrar_native_histograms_refused_total 1\n"),
        "{metrics}"
    );
    client.stop().await;
}

#[tokio::test]
async fn other_content_types_are_rejected() {
    let client = Client::start().await;
    for (content_type, status) in [
        ("application/json", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (
            "application/x-protobuf;proto=io.prometheus.write.v3.Request",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        ("application/x-protobuf", StatusCode::BAD_REQUEST),
        (
            "application/x-protobuf; proto=prometheus.WriteRequest",
            StatusCode::BAD_REQUEST,
        ),
        (V2, StatusCode::BAD_REQUEST),
    ] {
        let request = client.request(Method::POST, "/api/v1/write");
        let request = request.header(header::CONTENT_TYPE, content_type);
        let answer = client.send(request, "not snappy").await;
        assert_eq!(answer.status, status, "{content_type}");
    }
    client.stop().await;
}

#[tokio::test]
async fn exemplars_are_found_by_the_selectors_of_a_query() {
    let client = Client::start().await;
    send(&client, vec![latency()]).await;
    let exemplar = json!({
        "seriesLabels": {"__name__": "latency", "job": "a"},
        "exemplars": [{"labels": {"trace_id": "5f0c"}, "value": "+Inf", "timestamp": 1.5}],
    });
    for (query, found) in [
        ("query=latency", json!([exemplar])),
        ("query=latency&start=1.5&end=1.5", json!([exemplar])),
        ("query=rate(latency%5B5m%5D)%2Bup", json!([exemplar])),
        ("query=latency%7Bjob=%22b%22%7D", json!([])),
        ("query=latency&start=1.6", json!([])),
        ("query=latency&end=1.4", json!([])),
        ("query=1", json!([])),
    ] {
        let answer = client
            .get(&format!("/api/v1/query_exemplars?{query}"))
            .await
            .ok();
        assert_eq!(answer["status"], "success");
        assert_eq!(answer["data"], found, "{query}");
    }
    let form = client
        .request(Method::POST, "/api/v1/query_exemplars")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let answer = client.send(form, "query=latency&step=5").await.ok();
    assert_eq!(answer["data"], json!([exemplar]));
    assert_eq!(
        answer["warnings"],
        json!(["unknown parameter \"step\" was ignored"])
    );
    for wrong in [
        "",
        "query=sum(",
        "query=up&start=2&end=1",
        "query=up&start=noon",
    ] {
        let answer = client
            .get(&format!("/api/v1/query_exemplars?{wrong}"))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    client.stop().await;
}
