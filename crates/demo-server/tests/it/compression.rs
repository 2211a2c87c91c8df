//! Compressed answers.

use std::io::Read as _;
use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use flate2::read::GzDecoder;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::support::Client;

fn encoding(headers: &HeaderMap) -> Option<&[u8]> {
    headers
        .get(header::CONTENT_ENCODING)
        .map(|value| value.as_bytes())
}

#[tokio::test]
async fn answer_is_compressed_where_the_client_asks_for_it() {
    let client = Client::start().await;
    let points: Vec<Value> = (0..20_000)
        .map(|second| json!({"metric": "up", "timestamp": second * 1000, "value": 1}))
        .collect();
    client.post("/series/write", &json!(points)).await.ok();
    let question = json!({"metric": "up", "start": 0, "end": 20_000_000});
    for (method, path, body) in [
        (Method::GET, "/openapi.json", String::new()),
        (Method::GET, "/metrics", String::new()),
        (Method::GET, "/page/style.css", String::new()),
        // Larger than a piece, so the body is streamed.
        (
            Method::GET,
            "/api/v1/query?query=up%5B1d%5D&time=20000",
            String::new(),
        ),
        (Method::POST, "/series/query", question.to_string()),
    ] {
        let request = |encodings| {
            client
                .request(method.clone(), path)
                .header(header::ACCEPT_ENCODING, encodings)
        };
        let plain = client.send(request("identity"), body.clone()).await;
        assert_eq!(encoding(&plain.headers), None, "{path}");
        let packed = client.send(request("gzip, deflate"), body).await;
        assert_eq!(encoding(&packed.headers), Some(&b"gzip"[..]), "{path}");
        assert!(packed.body.len() * 2 < plain.body.len(), "{path}");
        let mut text = String::new();
        GzDecoder::new(&packed.body[..])
            .read_to_string(&mut text)
            .expect("the body is gzip");
        // The numbers of `/metrics` have changed meanwhile.
        assert!(path == "/metrics" || text == plain.text(), "{path}");
    }
    client.stop().await;
}

#[tokio::test]
async fn short_answer_is_not_compressed() {
    let client = Client::start().await;
    let request = client.request(Method::GET, "/health");
    let answer = client
        .send(request.header(header::ACCEPT_ENCODING, "gzip"), "")
        .await;
    assert_eq!(encoding(&answer.headers), None);
    client.stop().await;
}

/// A compressor waits for more input before it writes, so a subscriber would get its events late.
#[tokio::test]
async fn event_stream_is_not_held_back() {
    let client = Client::start().await;
    let event = json!({"type": "Opened", "tags": ["door:1"], "data": "{}"});
    let body = json!({ "events": event });
    client.post("/dcb/append", &body).await.ok();
    let request = client.request(Method::GET, "/dcb/subscribe");
    let mut stream = client
        .open(request.header(header::ACCEPT_ENCODING, "gzip"))
        .await;
    assert_eq!(encoding(stream.headers()), None);
    let frame = tokio::time::timeout(Duration::from_secs(10), stream.body_mut().frame()).await;
    assert!(frame.expect("the stream sends at once").is_some());
    drop(stream);
    client.stop().await;
}
