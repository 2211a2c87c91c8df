//! A stop while streams are open.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::Client;

/// A subscription never ends by itself, and a client may have stopped reading it.
#[tokio::test(flavor = "multi_thread")]
async fn stop_ends_open_streams() {
    let client = Client::start().await;
    let mut streams = Vec::new();
    for path in [
        "/dcb/subscribe?query=%7B%22items%22:%5B%5D%7D",
        "/subscribe?category=account",
    ] {
        for _ in 0..3 {
            let stream = client.open(client.request(Method::GET, path)).await;
            assert_eq!(stream.status(), StatusCode::OK, "{path}");
            // Never read.
            streams.push(stream);
        }
    }
    let event = json!({"events": {"type": "Filled", "data": "x".repeat(100_000), "tags": ["a:1"]}});
    for _ in 0..20 {
        client.post("/dcb/append", &event).await.ok();
    }
    // Requests in progress have 10 s.
    let stopped = tokio::time::timeout(Duration::from_secs(60), client.stop());
    stopped.await.expect("it stops");
    drop(streams);
}
