//! Series in files, after a kill, a repeated request and damage to a file.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use conformance_suite::effort_up_to;
use demo_server::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::process::Process;
use crate::support::Client;

fn in_folder(folder: &Path) -> Settings {
    Settings {
        data: Some(folder.to_owned()),
        ..Settings::in_memory()
    }
}

/// The result of an instant query.
async fn query(client: &Client, query: &str) -> Value {
    let path = format!("/api/v1/query?time=1000&query={query}");
    client.get(&path).await.ok()["data"]["result"][0]["value"][1].clone()
}

/// A client that has lost the answer sends the request again.
#[tokio::test]
async fn repeated_request_leaves_one_sample() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let mut client = Client::with(in_folder(folder.path())).await;
    let samples =
        (0..500).map(|second| json!({"metric": "sent", "timestamp": second * 1000, "value": 1}));
    let body: Value = samples.collect();
    // In order; late, as some samples are compressed by now; and after restarts.
    for round in 0..4 {
        assert_eq!(
            client.post("/series/write", &body).await.ok()["written"],
            500
        );
        assert_eq!(query(&client, "count_over_time(sent[1h])").await, "500");
        assert_eq!(query(&client, "sum_over_time(sent[1h])").await, "500");
        let metrics = client.get("/metrics").await.text();
        let repeated = if round == 0 { 0 } else { 500 };
        let line = format!("\ntsdb_samples_repeated_total {repeated}\n");
        assert!(
            round > 1 || metrics.contains(&line),
            "round {round}: {metrics}"
        );
        if round > 0 {
            client.stop().await;
            client = Client::with(in_folder(folder.path())).await;
        }
        assert_eq!(query(&client, "count_over_time(sent[1h])").await, "500");
    }
    // The last value stays.
    let other = json!({"metric": "sent", "timestamp": 7000, "value": 8});
    client.post("/series/write", &other).await.ok();
    assert_eq!(query(&client, "sum_over_time(sent[1h])").await, "507");
    client.stop().await;
}

/// Writes points until the server dies, and counts the answered ones.
async fn write_until_killed(address: SocketAddr, first: u32, answered: Arc<AtomicU32>) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let mut answer = [0; 1024];
    for number in first.. {
        let body = format!("sent v=1 {number}000000000");
        let head = format!(
            "POST /write HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream.write_all((head + &body).as_bytes()).await;
        match stream.read(&mut answer).await {
            Ok(read) if read > 0 && sent.is_ok() => {
                assert!(answer.starts_with(b"HTTP/1.1 204"), "{:?}", &answer[..read]);
                answered.fetch_add(1, Ordering::Relaxed);
            }
            _ => return,
        }
    }
}

#[tokio::test]
async fn killed_server_keeps_every_answered_write_in_each_mode() {
    for mode in ["commit", "periodic", "unsynced"] {
        let folder = tempfile::tempdir().expect("the folder exists");
        let mut first = 1;
        for round in 0..effort_up_to(3, 30) {
            let server = Process::start(folder.path(), &["--series-durability", mode]);
            let answered = Arc::new(AtomicU32::new(0));
            let writing = write_until_killed(server.address, first, Arc::clone(&answered));
            let writing = tokio::spawn(writing);
            while answered.load(Ordering::Relaxed) == 0 {
                assert!(!writing.is_finished(), "{mode}, round {round}");
                sleep(Duration::from_millis(10)).await;
            }
            sleep(Duration::from_millis(100)).await;
            server.kill();
            writing.await.expect("the writer ends");
            let answered = answered.load(Ordering::Relaxed);
            // The last write may be there although its answer was lost.
            first += answered + 1;
        }
        let client = Client::with(in_folder(folder.path())).await;
        let counted =
            client.get("/api/v1/query?time=1000000&query=count_over_time(sent_v[1000000s])");
        let counted = counted.await.ok()["data"]["result"][0]["value"][1].clone();
        let counted: u32 = counted.as_str().and_then(|n| n.parse().ok()).unwrap_or(0);
        let answered = first - 1 - effort_up_to(3, 30) as u32;
        assert!(counted >= answered, "{mode}: {counted} of {answered}");
        client.stop().await;
    }
}

fn series_command(folder: &Path, command: &str) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_demo-server"))
        .args(["series", command, "--data"])
        .arg(folder)
        .output()
        .expect("the command runs");
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).expect("the report is text")
}

/// One flipped bit once stopped the whole server.
#[tokio::test]
async fn damaged_series_stop_only_their_own_paths_until_the_repair() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let client = Client::with(in_folder(folder.path())).await;
    for second in 0..20 {
        let point = json!({"metric": "sent", "timestamp": second * 1000, "value": 1});
        client.post("/series/write", &point).await.ok();
    }
    client.stop().await;
    let log = folder.path().join("series/log-0000000000000001");
    let mut bytes = std::fs::read(&log).expect("the log exists");
    // The log begins with the metadata of the server's own series; the samples are at its end.
    let in_samples = bytes.len() - 200;
    bytes[in_samples] ^= 1;
    std::fs::write(&log, bytes).expect("the log can be written");

    let client = Client::with(in_folder(folder.path())).await;
    let point = json!({"metric": "sent", "timestamp": 30_000, "value": 1});
    let refused = client.post("/series/write", &point).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    let refused = client.get("/api/v1/query?query=sent").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        refused.text().contains("series repair"),
        "{}",
        refused.text()
    );
    assert!(
        refused.text().contains("log-0000000000000001"),
        "{}",
        refused.text()
    );
    let health = client.get("/health").await;
    assert_eq!(health.status, StatusCode::SERVICE_UNAVAILABLE);
    // The other stores work.
    let event = json!({"type": "Opened", "data": "{}", "tags": ["shop:1"]});
    let appended = client
        .post("/dcb/append", &json!({ "events": event }))
        .await;
    assert_eq!(appended.ok()["appendConditionFailed"], false);
    client.stop().await;

    let report = series_command(folder.path(), "check");
    assert!(report.contains("a frame is damaged"), "{report}");
    assert!(report.contains("samples may be lost"), "{report}");
    series_command(folder.path(), "repair");
    assert!(series_command(folder.path(), "check").ends_with("no damage\n"));
    let client = Client::with(in_folder(folder.path())).await;
    let kept = query(&client, "count_over_time(sent[1h])").await;
    let kept: u32 = kept.as_str().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!((15..20).contains(&kept), "{kept} kept");
    client.stop().await;
}
