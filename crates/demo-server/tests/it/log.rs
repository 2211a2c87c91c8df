//! The server's log.

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
