//! OpenTelemetry's metrics, from OpenTelemetry's own exporter.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::pin::Pin;

use axum::http::{Method, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{SdkMeterProvider, Temporality};
use serde_json::{Value, json};

use crate::support::{Answer, Client};

const PATH: &str = "/api/v1/otlp/v1/metrics";

/// Sends the exporter's requests. Its own clients would need a TLS library.
#[derive(Debug)]
struct PlainHttp;

impl HttpClient for PlainHttp {
    fn send_bytes<'client, 'sent>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'client: 'sent,
    {
        // The exporter calls this on a separate thread, so it may block.
        Box::pin(async move { Ok(exchange(&request)?) })
    }
}

fn exchange(request: &Request<Bytes>) -> std::io::Result<Response<Bytes>> {
    let uri = request.uri();
    let authority = uri.authority().expect("the address is complete").as_str();
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\ncontent-length: {}\r\n",
        uri.path(),
        request.body().len()
    );
    for (name, value) in request.headers() {
        let value = value.to_str().expect("the header is text");
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut stream = TcpStream::connect(authority)?;
    stream.write_all(&[head.as_bytes(), b"\r\n", request.body()].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let response = Response::builder().status(status);
    let response = response.body(Bytes::from(body.to_owned()));
    Ok(response.expect("the status is a number"))
}

/// A counter, a gauge and a histogram of the service `shop`, exported once. Returns whether the
/// exporter succeeded.
async fn export(client: &Client, temporality: Temporality) -> bool {
    let endpoint = client.url(PATH);
    // The exporter blocks.
    let exported = tokio::task::spawn_blocking(move || {
        let exporter = MetricExporter::builder()
            .with_http()
            .with_http_client(PlainHttp)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .with_temporality(temporality)
            .build()
            .expect("the exporter starts");
        let resource = Resource::builder_empty()
            .with_service_name("shop")
            .with_attribute(KeyValue::new("host.name", "web-1"))
            .build();
        let provider = SdkMeterProvider::builder()
            .with_resource(resource)
            .with_periodic_exporter(exporter)
            .build();
        let meter = provider.meter("test");
        let orders = meter
            .u64_counter("orders.placed")
            .with_description("Placed orders")
            .build();
        orders.add(3, &[KeyValue::new("payment.kind", "card")]);
        let temperature = meter.f64_gauge("temperature").with_unit("Cel").build();
        temperature.record(21.5, &[]);
        let latency = meter
            .f64_histogram("latency")
            .with_unit("ms")
            .with_boundaries(vec![10.0, 100.0])
            .build();
        for milliseconds in [5.0, 50.0, 500.0] {
            latency.record(milliseconds, &[]);
        }
        let flushed = provider.force_flush().is_ok();
        let _ = provider.shutdown();
        flushed
    });
    exported.await.expect("the exporter does not panic")
}

async fn value(client: &Client, query: &str) -> Value {
    let found = client
        .get(&format!("/api/v1/query?query={query}"))
        .await
        .ok();
    found["data"]["result"][0]["value"][1].clone()
}

#[tokio::test]
async fn metrics_of_a_real_exporter_are_written() {
    let client = Client::start().await;
    assert!(export(&client, Temporality::Cumulative).await);
    for (query, expected) in [
        (
            "orders_placed_total%7Bjob=%22shop%22,payment_kind=%22card%22%7D",
            "3",
        ),
        ("temperature_celsius", "21.5"),
        ("latency_milliseconds_count", "3"),
        ("latency_milliseconds_sum", "555"),
        ("latency_milliseconds_bucket%7Ble=%22100%22%7D", "2"),
        ("latency_milliseconds_bucket%7Ble=%22%2BInf%22%7D", "3"),
        ("target_info%7Bjob=%22shop%22,host_name=%22web-1%22%7D", "1"),
    ] {
        assert_eq!(value(&client, query).await, expected, "{query}");
    }
    let metadata = client
        .get("/api/v1/metadata?metric=orders_placed_total")
        .await
        .ok();
    assert_eq!(
        metadata["data"]["orders_placed_total"],
        json!([{"type": "counter", "help": "Placed orders", "unit": ""}])
    );
    client.stop().await;
}

#[tokio::test]
async fn increases_of_a_real_exporter_are_added_up() {
    let client = Client::start().await;
    for _ in 0..2 {
        assert!(export(&client, Temporality::Delta).await);
    }
    for (query, expected) in [
        ("orders_placed_total", "6"),
        ("latency_milliseconds_count", "6"),
        ("latency_milliseconds_bucket%7Ble=%22100%22%7D", "4"),
        // Gauges have no temporality.
        ("temperature_celsius", "21.5"),
    ] {
        assert_eq!(value(&client, query).await, expected, "{query}");
    }
    client.stop().await;
}

/// Sums of these temporalities as JSON. 0 is none.
fn request(temporalities: &[i32]) -> Value {
    let metrics: Vec<Value> = temporalities
        .iter()
        .map(|temporality| {
            json!({"name": format!("sum{temporality}"), "sum": {
                "aggregationTemporality": temporality,
                "dataPoints": [{"timeUnixNano": "1000000000", "asInt": "1"}],
            }})
        })
        .collect();
    json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]})
}

async fn send(client: &Client, kind: &str, encoding: &str, body: impl Into<Bytes>) -> Answer {
    let request = client
        .request(Method::POST, PATH)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CONTENT_ENCODING, encoding);
    client.send(request, body).await
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("the body is compressed");
    encoder.finish().expect("the body is compressed")
}

#[tokio::test]
async fn json_is_answered_in_json() {
    let client = Client::start().await;
    for encoding in ["identity", "gzip"] {
        let body = request(&[2]).to_string();
        let body = match encoding {
            "gzip" => gzip(body.as_bytes()),
            _ => body.into_bytes(),
        };
        let answer = send(&client, "application/json; charset=utf-8", encoding, body).await;
        assert_eq!(answer.ok(), json!({}));
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
    }
    let found = client.get("/api/v1/query?query=sum2&time=1").await.ok();
    assert_eq!(found["data"]["result"][0]["value"], json!([1, "1"]));
    client.stop().await;
}

/// A client must not send a request again if a part of it was written.
#[tokio::test]
async fn partial_success_names_the_reason() {
    let client = Client::start().await;
    let body = request(&[0, 2, 0]).to_string();
    let answer = send(&client, "application/json", "", body).await.ok();
    let partial = &answer["partialSuccess"];
    assert_eq!(partial["rejectedDataPoints"], "2");
    let message = partial["errorMessage"]
        .as_str()
        .expect("the message is a string");
    assert!(
        message.contains("data point 1: metric sum0: the aggregation temporality"),
        "{message}"
    );
    let body = request(&[0]).to_string();
    let answer = send(&client, "application/json", "", body).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let answer = answer.json();
    let message = answer["error"].as_str().expect("the message is a string");
    assert!(message.contains("the aggregation temporality"), "{message}");
    client.stop().await;
}

#[tokio::test]
async fn other_bodies_are_rejected() {
    let client = Client::start().await;
    let bomb = gzip(&vec![b' '; 17 << 20]);
    for (kind, encoding, body, status) in [
        (
            "text/plain",
            "",
            b"x".to_vec(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            "application/json",
            "br",
            b"{}".to_vec(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            "application/json",
            "gzip",
            b"{}".to_vec(),
            StatusCode::BAD_REQUEST,
        ),
        (
            "application/json",
            "",
            b"{".to_vec(),
            StatusCode::BAD_REQUEST,
        ),
        (
            "application/x-protobuf",
            "",
            b"{}".to_vec(),
            StatusCode::BAD_REQUEST,
        ),
        (
            "application/json",
            "gzip",
            bomb,
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ] {
        let answer = send(&client, kind, encoding, body).await;
        assert_eq!(answer.status, status, "{kind} {encoding}");
        assert_eq!(answer.json()["status"], "error");
    }
    let answer = send(&client, "application/x-protobuf", "", "").await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::OK, 0));
    client.stop().await;
}
