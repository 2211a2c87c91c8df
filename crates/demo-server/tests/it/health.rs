//! Health checks, of a server whose stores take no writes too.

use std::time::Duration;

use demo_server::{Server, Settings};
use serde_json::{Value, json};

use crate::support::Client;
use crate::support::program::{Program, command_after};

#[tokio::test]
async fn probes_for_restarts_and_for_load_balancers_answer() {
    let client = Client::start().await;
    for (path, text) in [
        ("/livez", "Registrar is healthy.\n"),
        ("/readyz", "Registrar is ready.\n"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text().as_str()),
            (200, text)
        );
    }
    client.stop().await;
}

/// Data that does not fit into what SQLite's files have left.
fn large() -> String {
    "x".repeat(30_000)
}

fn append(server: &Program) -> (u16, String) {
    let event = json!({ "type": "Opened", "data": large(), "tags": ["shop:1"] });
    server.call(
        "POST",
        "/dcb/append",
        &json!({ "events": event }).to_string(),
    )
}

fn health(server: &Program) -> Value {
    let (status, body) = server.call("GET", "/health", "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("health is JSON")
}

/// A full disk was a 500 `INTERNAL_ERROR` for each append, while `/health` stayed ok.
#[test]
fn full_disk_is_named_until_a_write_succeeds() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let mount = r#"mount -t tmpfs -o size=6m none "$1""#;
    let Some(command) = command_after(mount, folder.path()) else {
        return;
    };
    let server = Program::start(command);
    let (status, body) = append(&server);
    assert_eq!(status, 200, "{body}");
    let in_root = folder
        .path()
        .strip_prefix("/")
        .expect("the path is absolute");
    let rest = server.path("root").join(in_root).join("rest");
    // Fails in the end, because it writes more than there is space.
    let filled = std::fs::write(&rest, vec![0; 8 << 20]);
    assert!(filled.is_err(), "the disk is full");

    let (status, body) = append(&server);
    assert_eq!(status, 507, "{body}");
    assert!(body.contains("DISK_FULL"), "{body}");
    let degraded = health(&server);
    assert_eq!(degraded["status"], "degraded");
    let cause = &degraded["takesNoWrites"]["events"];
    assert_eq!(cause, "the disk is full", "{degraded}");
    for path in ["/livez", "/readyz", "/dcb/events"] {
        let (status, body) = server.call("GET", path, "");
        assert!(status < 500, "{path}: {status} {body}");
    }

    std::fs::remove_file(rest).expect("the file is removed");
    let (status, body) = append(&server);
    assert_eq!(status, 200, "{body}");
    // The log of the series is tried once a second.
    let is_ok = || {
        std::thread::sleep(Duration::from_millis(200));
        health(&server)["status"] == "ok"
    };
    assert!((0..50).any(|_| is_ok()), "{}", health(&server));
    let log = server.stop();
    assert!(log.contains("a store takes no writes"), "{log}");
    assert!(log.contains("a store takes writes again"), "{log}");
}

/// A server whose user can't write `events.sqlite` started, and its health was ok.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_file_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let settings = Settings {
        data: Some(folder.path().join("data")),
        ..Settings::in_memory()
    };
    Server::start(settings)
        .await
        .expect("the server starts")
        .stop()
        .await;
    for file in ["events.sqlite", "messages/ns_default.sqlite"] {
        let file = format!(r#""$1"/data/{file}"#);
        let mount = format!("mount --bind {file} {file} && mount -o remount,bind,ro {file}");
        let Some(mut command) = command_after(&mount, folder.path()) else {
            return;
        };
        let output = command.output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        let name = file.rsplit('/').next().unwrap_or_default();
        assert!(
            error.contains(name) && error.contains("write access"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
