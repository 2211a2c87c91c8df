use std::io::Write as _;

use axum::http::{Method, header};
use demo_server::Settings;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::support::rpc::{assert_invalid, assert_refused, call, write};
use crate::support::{Answer, Client};

/// The line of a message in the stream `a-1` with this global position. Its position in the stream
/// is one less.
fn line(number: u64) -> String {
    let line = json!({
        "id": Uuid::from_u128(number.into()),
        "stream": "a-1",
        "type": "T",
        "pos": number - 1,
        "gpos": number,
        "data": { "number": number },
        "meta": null,
        "time": "2026-01-15T10:30:00.000001Z",
    });
    format!("{line}\n")
}

fn lines(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().map(line).collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(text.as_bytes())
        .expect("compression succeeds");
    encoder.finish().expect("compression succeeds")
}

/// The data of all events in the response.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.headers[header::CONTENT_TYPE], "text/event-stream");
    let text = answer.text();
    let data = text.split_terminator("\n\n").map(|event| {
        let data = event.strip_prefix("data: ").expect("the frame has data");
        serde_json::from_str(data).expect("it is JSON")
    });
    data.collect()
}

async fn import(client: &Client, query: &str, body: impl Into<bytes::Bytes>) -> Answer {
    client.post_bytes(&format!("/import{query}"), body).await
}

#[tokio::test]
async fn imported_messages_keep_all_their_fields() {
    let client = Client::start().await;
    let events = events(
        &import(
            &client,
            "",
            lines([3, 4]).replace(r#""pos":"#, r#" "pos":"#),
        )
        .await,
    );
    let done = events.last().expect("the response has a last event");
    assert_eq!(
        (&done["done"], &done["imported"], &done["skipped"]),
        (&json!(true), &json!(2), &json!(0))
    );
    assert!(
        done["elapsed"]
            .as_str()
            .is_some_and(|elapsed| elapsed.ends_with('s'))
    );
    let rows = call(&client, json!(["category.get", "a"])).await;
    let id = Uuid::from_u128(3);
    let row = json!([id, "a-1", "T", 2, 3, { "number": 3 }, null, "2026-01-15T10:30:00.000001Z"]);
    assert_eq!(rows[0], row);
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    // Later messages come after the imported ones.
    let written = write(&client, "a-1", 5).await;
    assert_eq!(written["position"], 4);
    assert!(written["globalPosition"].as_u64() > Some(4));
    client.stop().await;
}

#[tokio::test]
async fn empty_import_succeeds() {
    let client = Client::start().await;
    for body in ["", "\n\n", "  \n"] {
        let events = events(&import(&client, "", body).await);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0]["imported"], 0);
    }
    client.stop().await;
}

#[tokio::test]
async fn long_import_is_streamed_and_reports_progress() {
    const MESSAGES: u64 = 20_000;
    // The limit is much smaller than the body, because an import is not held in memory.
    let settings = Settings {
        max_body_bytes: 4000,
        ..Settings::in_memory()
    };
    for is_gzip in [false, true] {
        let client = Client::with(settings.clone()).await;
        let text = lines(1..=MESSAGES);
        let answer = if is_gzip {
            let request = client.request(Method::POST, "/import");
            let request = request.header(header::CONTENT_ENCODING, "gzip");
            client.send(request, gzip(&text)).await
        } else {
            import(&client, "", text).await
        };
        let events = events(&answer);
        let (done, progress) = events.split_last().expect("the response has a last event");
        assert_eq!(done["imported"], MESSAGES, "{done}");
        assert!(progress.len() > 1, "{progress:?}");
        let mut before = 0;
        for part in progress {
            let imported = part["imported"].as_u64().expect("the count is present");
            assert!(imported > before && imported < MESSAGES);
            assert_eq!(part["gpos"], imported);
            before = imported;
        }
        assert_eq!(
            call(&client, json!(["stream.version", "a-1"])).await,
            MESSAGES - 1
        );
        client.stop().await;
    }
}

#[tokio::test]
async fn import_into_a_namespace_with_messages_needs_force() {
    let client = Client::start().await;
    events(&import(&client, "", lines(1..=3)).await);
    let refused = import(&client, "", lines(4..=5)).await;
    assert_refused(&refused, 409, "NAMESPACE_NOT_EMPTY");
    let refused = import(&client, "?force=false", lines(4..=5)).await;
    assert_refused(&refused, 409, "NAMESPACE_NOT_EMPTY");
    assert_eq!(call(&client, json!(["stream.version", "a-1"])).await, 2);
    // Messages that are already stored are skipped.
    let events = events(&import(&client, "?force=true", lines(2..=5)).await);
    let done = events.last().expect("the response has a last event");
    assert_eq!(
        (&done["imported"], &done["skipped"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(call(&client, json!(["stream.version", "a-1"])).await, 4);
    client.stop().await;
}

#[tokio::test]
async fn import_with_a_gap_or_changed_messages_is_a_conflict() {
    let client = Client::start().await;
    events(&import(&client, "", lines(1..=3)).await);
    let gap = line(5);
    let taken = line(4).replace(
        &Uuid::from_u128(4).to_string(),
        &Uuid::from_u128(1).to_string(),
    );
    let other = line(3).replace("\"number\":3", "\"number\":4");
    for (body, position) in [(gap, 5), (taken, 4), (other, 3)] {
        let refused = import(&client, "?force=true", body).await;
        assert_refused(&refused, 409, "POSITION_EXISTS");
        assert_eq!(
            refused.json()["error"]["details"]["globalPosition"],
            position
        );
    }
    assert_eq!(call(&client, json!(["stream.version", "a-1"])).await, 2);
    client.stop().await;
}

#[tokio::test]
async fn malformed_line_is_named() {
    let client = Client::start().await;
    for (bad, number) in [
        ("{}\n".to_owned(), 1),
        (format!("\n{}{{\n", line(1)), 3),
        (line(1).replace("00000001", "x"), 1),
        (line(1).replace("-1\"", "\\u0000\""), 1),
    ] {
        let refused = import(&client, "", bad).await;
        assert_refused(&refused, 400, "INVALID_REQUEST");
        assert_eq!(refused.json()["error"]["details"]["line"], number);
    }
    assert_eq!(call(&client, json!(["category.get", ""])).await, json!([]));
    // After the first part is stored, the error is an event of the response.
    const GOOD: u64 = 20_000;
    let body = lines(1..=GOOD) + "no message\n";
    let events = events(&import(&client, "", body).await);
    let last = events.last().expect("the response has a last event");
    assert_eq!(last["error"], "INVALID_REQUEST", "{last}");
    assert_eq!(last["line"], GOOD + 1, "{last}");
    client.stop().await;
}

#[tokio::test]
async fn unreadable_body_is_rejected() {
    let settings = Settings {
        max_body_bytes: 1000,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let encoded = async |encoding: &str, body: Vec<u8>| {
        let request = client.request(Method::POST, "/import");
        let request = request.header(header::CONTENT_ENCODING, encoding);
        client.send(request, body).await
    };
    let compressed = gzip(&line(1));
    for (answer, reason) in [
        (
            import(&client, "", compressed.clone()).await,
            "Content-Encoding",
        ),
        (encoded("gzip", line(1).into()).await, "gzip"),
        (encoded("gzip", compressed[..20].to_vec()).await, "gzip"),
        // This body is small when compressed, but has a line above the limit.
        (
            encoded("gzip", gzip(&"x".repeat(2000))).await,
            "more than 1000 bytes",
        ),
        (
            import(&client, "", "x".repeat(2000)).await,
            "more than 1000 bytes",
        ),
    ] {
        assert_refused(&answer, 400, "INVALID_REQUEST");
        assert!(answer.text().contains(reason), "{}", answer.text());
    }
    // Names of encodings are case-insensitive.
    let answer = encoded("GZIP", line(1).into()).await;
    assert_refused(&answer, 400, "INVALID_REQUEST");
    let answer = encoded("br", line(1).into()).await;
    assert_refused(&answer, 415, "UNSUPPORTED_MEDIA_TYPE");
    assert_invalid(&import(&client, "?force=perhaps", line(1)).await, "force");
    assert_eq!(call(&client, json!(["category.get", ""])).await, json!([]));
    client.stop().await;
}

/// An import that sends nothing holds its slot until the body times out.
#[tokio::test]
async fn imports_are_limited_and_stalled_ones_time_out() {
    let settings = Settings {
        body_timeout_s: 2,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let address = client.url("");
    let address = address
        .strip_prefix("http://")
        .expect("the address is known");
    let mut stalled = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(address)
            .await
            .expect("the server accepts the connection");
        let head = "POST /import HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n";
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the bytes are sent");
        stalled.push(stream);
    }
    let refused = loop {
        let answer = import(&client, "", "").await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_refused(&refused, 503, "OVERLOADED");
    assert_eq!(refused.headers[header::RETRY_AFTER], "1");
    for mut stream in stalled {
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).await.expect("the server answers");
        let answer = String::from_utf8_lossy(&answer[..read]);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(answer.contains("BODY_TIMEOUT"), "{answer}");
    }
    events(&import(&client, "", "").await);
    client.stop().await;
}
