//! Bodies that decompress or decode to many times their size.
#![cfg(target_os = "linux")]

use std::io::Write as _;

use axum::http::{Request, StatusCode};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::process::Process;

const BUDGET: usize = 64 << 20;
/// The promise of the README.
const BOUND: usize = BUDGET / 2 * 3 + (64 << 20);
/// The largest content of a request of OTLP.
const CONTENT: usize = 16 << 20;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("compression succeeds");
    encoder.finish().expect("compression succeeds")
}

/// A field with bytes of a message of protocol buffers.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 128 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(bytes);
    out
}

fn snappy(message: &[u8]) -> Vec<u8> {
    let mut encoder = snap::raw::Encoder::new();
    encoder.compress_vec(message).expect("compressed")
}

/// Empty messages of this field, with the room for what is around them.
fn empty(number: u8, bytes: usize) -> Vec<u8> {
    [number << 3 | 2, 0].repeat(bytes / 2 - 200)
}

/// A body of 16 kB once took 1.1 GB.
#[tokio::test(flavor = "multi_thread")]
async fn memory_stays_in_bounds_with_hostile_bodies() {
    let otlp = |metric: &[u8]| gzip(&field(1, &field(2, &field(2, metric))));
    let points = otlp(&field(5, &empty(1, CONTENT)));
    let attributes = otlp(&field(5, &field(1, &empty(7, CONTENT))));
    let objects = format!(r#"{{"resourceMetrics":[{}{{}}]}}"#, "{},".repeat(5_500_000));
    let (protobuf, json) = ("application/x-protobuf", "application/json");
    let metrics = "/api/v1/otlp/v1/metrics";
    let text = "text/plain";
    let series = field(
        1,
        &field(1, &[field(1, b"__name__"), field(2, b"m")].concat()),
    );
    for (name, path, kind, encoding, body) in [
        (
            "resources",
            metrics,
            protobuf,
            "gzip",
            gzip(&empty(1, CONTENT)),
        ),
        (
            "metrics",
            metrics,
            protobuf,
            "gzip",
            gzip(&field(1, &field(2, &empty(2, CONTENT)))),
        ),
        ("points", metrics, protobuf, "gzip", points),
        ("attributes", metrics, protobuf, "gzip", attributes),
        ("objects", metrics, json, "gzip", gzip(objects.as_bytes())),
        (
            "blank lines",
            "/write",
            text,
            "gzip",
            gzip(&vec![b'\n'; 31 << 20]),
        ),
        (
            "lines",
            "/write",
            text,
            "gzip",
            gzip(&b"a b=1\n".repeat(1_000_000)),
        ),
        (
            "series",
            "/api/v1/write",
            protobuf,
            "snappy",
            snappy(&empty(1, 31 << 20)),
        ),
        (
            "samples",
            "/api/v1/write",
            protobuf,
            "snappy",
            snappy(&field(1, &[&series[2..], &empty(2, 31 << 20)].concat())),
        ),
        (
            "many series",
            "/api/v1/write",
            protobuf,
            "snappy",
            snappy(&series.repeat((31 << 20) / series.len())),
        ),
        (
            "symbols",
            "/api/v1/write",
            "application/x-protobuf;proto=io.prometheus.write.v2.Request",
            "snappy",
            snappy(&empty(4, 31 << 20)),
        ),
    ] {
        let folder = tempfile::tempdir().expect("the folder exists");
        let server = Process::start(folder.path(), &["--series-bytes", &BUDGET.to_string()]);
        let http = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let body = Bytes::from(body);
        let mut senders = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let request = Request::post(format!("http://{}{path}", server.address))
                .header("content-type", kind)
                .header("content-encoding", encoding)
                .body(Full::new(body.clone()));
            let sent = http.request(request.expect("the request is valid"));
            senders.spawn(async move { sent.await.expect("an answer").status() });
        }
        while let Some(status) = senders.join_next().await {
            let status = status.expect("the sender ends");
            assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{name}");
        }
        let peak = server.peak_bytes();
        println!("{name}: {} MB", peak >> 20);
        assert!(peak <= BOUND, "{name}: {peak} bytes, {BOUND} are allowed");
    }
}
