//! The server's log.

use std::time::Duration;

use local_postgres::SessionProxy;
use serde_json::Value;

use crate::support::program::{Program, command};
use crate::support::sql::fresh_database;

#[test]
fn start_names_address_data_limits_and_what_is_insecure() {
    let log = Program::start(command()).stop();
    for part in [
        "address=127.0.0.1:",
        "data=\"all data in memory\"",
        "max_body_bytes=16777216",
        "insecure: with --test-mode",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    // Colours were written into files too.
    assert!(!log.contains('\u{1b}'), "{log}");
    assert!(!log.contains("demo_server::access"), "{log}");
}

#[test]
fn access_log_has_the_path_without_the_token() {
    let mut command = command();
    command.env("REGISTRAR_ACCESS_LOG", "1");
    let server = Program::start(command);
    server.call("GET", "/dcb/read?token=secret", "");
    server.call("GET", "/nowhere", "");
    let log = server.stop();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("demo_server::access"))
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("path=\"/dcb/read\""), "{log}");
    assert!(
        lines[1].contains("method=GET") && lines[1].contains("status=404"),
        "{log}"
    );
    assert!(!log.contains("secret"), "{log}");
}

/// A time in ms that is taken for one in ns is in 1970, where no query looks.
#[test]
fn samples_of_1970_are_named_once_a_minute() {
    let server = Program::start(command());
    for path in ["/write", "/write?precision=ns"] {
        server.call("POST", path, "cpu usage=1 1700000000000");
    }
    server.call("POST", "/write?precision=ms", "cpu usage=1 1700000000000");
    let log = server.stop();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("1970")).collect();
    assert_eq!(warnings.len(), 1, "{log}");
    assert!(warnings[0].contains("line protocol"), "{log}");
}

/// The driver repeats what PostgreSQL tells about each `CREATE .. IF NOT EXISTS`.
#[tokio::test(flavor = "multi_thread")]
async fn notices_of_postgres_are_not_repeated() {
    let database = fresh_database("notices").await;
    for _ in 0..2 {
        let mut command = command();
        command.args(["--database-url", database.url()]);
        command.env("RUST_LOG", "info");
        let ran = tokio::task::spawn_blocking(|| Program::start(command).stop());
        let log = ran.await.expect("the task does not panic");
        assert!(log.contains("serving events"), "{log}");
        assert!(!log.contains("sqlx::postgres::notice"), "{log}");
    }
}

/// Each line of the log as an object.
fn objects(log: &str) -> Vec<Value> {
    let object = |line: &str| {
        let parsed: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(parsed.is_object(), "{line}");
        for field in ["timestamp", "level", "target", "message"] {
            assert!(parsed[field].is_string(), "{field}: {line}");
        }
        parsed
    };
    log.lines().map(object).collect()
}

#[test]
fn json_log_has_an_object_on_each_line() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let mut command = command();
    command.args(["--log-format", "json", "--access-log", "--data"]);
    command.arg(folder.path());
    let server = Program::start(command);
    server.call("GET", "/dcb/read", "");
    server.call("GET", "/nowhere", "");
    let lines = objects(&server.stop());
    let line = |message: &str| {
        let found = lines.iter().find(|line| line["message"] == message);
        found.unwrap_or_else(|| panic!("{message}: {lines:#?}"))
    };
    let limits = line("limits");
    assert_eq!(limits["max_body_bytes"], 16 << 20, "{limits}");
    assert_eq!(limits["level"], "INFO");
    // The stores' own events.
    let installed = line("the schema was installed or upgraded");
    assert_eq!(installed["target"], "dcb_core::sqlite::schema");
    assert_eq!(
        (&installed["from"], &installed["to"]),
        (&0.into(), &2.into())
    );
    line("stopping: finishing the requests in progress");
}

#[test]
fn failed_start_is_json_too() {
    let mut command = command();
    command.args(["--database-url", "nonsense"]);
    command.env("REGISTRAR_LOG_FORMAT", "json");
    command.env("RUST_LOG", "off");
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let lines = objects(&String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
}

/// The health check runs once a second. It wrote a line each time.
#[tokio::test(flavor = "multi_thread")]
async fn outage_is_logged_once_by_each_part() {
    let database = fresh_database("outage").await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut command = command();
    command.args(["--log-format", "json", "--database-url", proxy.url()]);
    let server = tokio::task::spawn_blocking(|| Program::start(command)).await;
    let server = server.expect("the task does not panic");
    proxy.silence_new(true);
    proxy.silence();
    tokio::time::sleep(Duration::from_secs(12)).await;
    proxy.silence_new(false);
    tokio::time::sleep(Duration::from_secs(8)).await;
    let log = tokio::task::spawn_blocking(|| server.stop()).await;
    let lines = objects(&log.expect("the task does not panic"));
    let count = |message: &str, field: &str, value: &str| {
        let is_it = |line: &&Value| line["message"] == message && line[field] == value;
        lines.iter().filter(is_it).count()
    };
    for (message, field, values) in [
        (
            "a store failed its health check",
            "store",
            ["events", "messages"],
        ),
        (
            "a store answers its health check again",
            "store",
            ["events", "messages"],
        ),
        (
            "PostgreSQL can't be reached",
            "application",
            ["dcb-core", "message-store"],
        ),
        (
            "PostgreSQL can be reached again",
            "application",
            ["dcb-core", "message-store"],
        ),
    ] {
        for value in values {
            assert_eq!(
                count(message, field, value),
                1,
                "{message} {value}: {lines:#?}"
            );
        }
    }
}
