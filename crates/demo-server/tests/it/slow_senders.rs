//! Clients that begin a body and then stall.

use std::time::Duration;

use axum::http::{Method, StatusCode, header};
use conformance_suite::effort_up_to;
use demo_server::Settings;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::Client;

const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n5\r\nm f=1";
const LONG: &str = "content-length: 16777216\r\n\r\nm f=1";

/// A body once reserved the bytes that it might have, so sixteen senders that stalled took the whole
/// budget, and every other request with a body was refused for 30 s.
#[tokio::test]
async fn stalled_senders_leave_room_for_quick_ones_in_every_store() {
    let client = Client::start().await;
    let slow = stalled(&client, effort_up_to(400, 1000)).await;
    for _ in 0..effort_up_to(10, 100) {
        assert_small_bodies_are_taken(&client).await;
    }
    drop(slow);
    client.stop().await;
}

/// Bodies that have arrived in part fill the whole budget. A small body takes none of it.
#[tokio::test]
async fn small_body_fits_while_the_budget_is_used_up() {
    const PART: usize = 1 << 20;
    let settings = Settings {
        max_body_bytes: 64 << 20,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let mut slow = Vec::new();
    // More than the budget of 256 MiB in all. The server takes as much as fits.
    for _ in 0..8 {
        let head = "POST /write HTTP/1.1\r\nhost: x\r\ncontent-length: 67108864\r\n\r\n";
        let mut stream = connected(&client).await;
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        let part = vec![b'#'; PART];
        for _ in 0..60 {
            let sent = tokio::time::timeout(Duration::from_millis(200), stream.write_all(&part));
            if !matches!(sent.await, Ok(Ok(()))) {
                break;
            }
        }
        slow.push(stream);
    }
    assert_small_bodies_are_taken(&client).await;
    drop(slow);
    client.stop().await;
}

/// A hundred agents that flush at the same time once were refused in part.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_flush_together_are_all_served() {
    let client = std::sync::Arc::new(Client::start().await);
    let lines: String = (0..200)
        .map(|line| format!("cpu,host=h{line} busy={line}\n"))
        .collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(lines.as_bytes()).expect("it is memory");
    let body = encoder.finish().expect("it is memory");
    let slow = stalled(&client, 16).await;
    let mut agents = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (client, body) = (std::sync::Arc::clone(&client), body.clone());
        agents.spawn(async move {
            let request = client.request(Method::POST, "/write");
            let request = request.header(header::CONTENT_ENCODING, "gzip");
            client.send(request, body).await.status
        });
    }
    while let Some(status) = agents.join_next().await {
        assert_eq!(status.expect("the agent ends"), StatusCode::NO_CONTENT);
    }
    drop(slow);
    let client = std::sync::Arc::into_inner(client).expect("the agents have ended");
    client.stop().await;
}

/// Connections that have sent the head and the first bytes of a body.
async fn stalled(client: &Client, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for index in 0..count {
        let path = ["/write", "/dcb/append", "/rpc"][index % 3];
        let body = [CHUNKED, LONG][index % 2];
        let mut stream = connected(client).await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\n{body}");
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        streams.push(stream);
    }
    // Long enough for the server to have begun with all of them.
    tokio::time::sleep(Duration::from_millis(100)).await;
    streams
}

async fn connected(client: &Client) -> TcpStream {
    let address = client.url("");
    let address = address.trim_start_matches("http://").to_owned();
    let stream = TcpStream::connect(address).await;
    stream.expect("the server accepts the connection")
}

async fn assert_small_bodies_are_taken(client: &Client) {
    let line = client.post_bytes("/write", "m f=1").await;
    assert_eq!(line.status, StatusCode::NO_CONTENT, "{}", line.text());
    let event = json!({ "events": { "type": "Opened", "data": "{}", "tags": ["a:1"] } });
    client.post("/dcb/append", &event).await.ok();
    let message = json!(["stream.write", "account-1", { "type": "Opened", "data": {} }]);
    client.post("/rpc", &message).await.ok();
}
