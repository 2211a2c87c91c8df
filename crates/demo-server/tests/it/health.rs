//! Health checks, of a server whose stores take no writes too.

use std::time::Duration;

use axum::http::Method;
use demo_server::{Server, Settings};
use serde_json::{Value, json};

use crate::support::Client;
use crate::support::program::{Program, command_after};
use crate::support::sql::{fresh_database, sql};

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

/// The listeners of both stores, as `/health` shows them, once each is heard of and was replaced
/// this often.
async fn listeners_with(client: &Client, replacements: u64) -> Value {
    for _ in 0..100 {
        let health = client.get("/health").await;
        // While a store does not answer, the status is 503.
        let listeners = match health.status.as_u16() {
            200 => health.ok()["listeners"].clone(),
            _ => Value::Null,
        };
        let is_done = |store| {
            let listener: &Value = &listeners[store];
            listener["hears"] == true && listener["replacements"] == replacements
        };
        if is_done("events") && is_done("messages") {
            return listeners;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("no such state: {}", client.get("/health").await.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_shown_once_there_is_a_subscription() {
    let database = fresh_database("listeners").await;
    let client = Client::with(Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    })
    .await;
    assert_eq!(client.get("/health").await.ok(), json!({ "status": "ok" }));
    let mut subscriptions = Vec::new();
    for path in ["/dcb/subscribe", "/subscribe?category=a"] {
        let request = client.request(Method::GET, path);
        subscriptions.push(client.open(request).await);
    }
    let listeners = listeners_with(&client, 0).await;
    let hears = json!({ "hears": true, "lostSince": null, "replacements": 0 });
    assert_eq!(listeners, json!({ "events": hears, "messages": hears }));

    let cut = "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity \
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    sql(database.url(), cut).await;
    listeners_with(&client, 1).await;
    let metrics = client.get("/metrics").await.text();
    for store in ["events", "messages"] {
        for line in [
            format!(r#"registrar_store_listens{{store="{store}"}} 1"#),
            format!(r#"registrar_store_listener_replacements_total{{store="{store}"}} 1"#),
        ] {
            assert!(metrics.lines().any(|shown| shown == line), "{metrics}");
        }
    }
    drop(subscriptions);
    client.stop().await;
}
