//! A start that fails ends, and says in one line what to do.

use std::path::Path;
use std::process::{Command, Output};

use demo_server::{Server, Settings};

use crate::support::program::command;
use crate::support::sql::{fresh_database, sql};

/// The mark of a later version of the schema.
const NEWER: &str = "INSERT INTO dcb.migration (version, checksum) VALUES (999, 'x')";

/// Checks the output of a program that ended. A second try would add a line.
#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Starts a program that must fail.
#[track_caller]
fn assert_fails(arguments: &[&str], parts: &[&str]) {
    let output = command()
        .args(arguments)
        .output()
        .expect("the program runs");
    assert_refused(&output, parts);
}

fn in_folder(folder: &Path) -> Settings {
    Settings {
        data: Some(folder.to_owned()),
        ..Settings::in_memory()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn address_and_data_folder_in_use_are_named_with_the_option() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let server = Server::start(in_folder(folder.path())).await;
    let server = server.expect("the server starts");
    let address = server.address();
    let mut twice = command();
    twice.args(["--data", folder.path().to_str().expect("text")]);
    let output = twice.output().expect("the program runs");
    assert_refused(&output, &["another demo-server", "--data"]);

    let output = Command::new(env!("CARGO_BIN_EXE_demo-server"))
        .args(["--test-mode", "--port", &address.port().to_string()])
        .env_remove("DATABASE_URL")
        .output()
        .expect("the program runs");
    assert_refused(&output, &[&address.to_string(), "--port"]);
    server.stop().await;
}

#[test]
fn data_folder_that_can_not_be_written_is_named_with_the_option() {
    assert_fails(
        &["--data", "/proc/registrar"],
        &["/proc/registrar", "--data"],
    );
}

#[test]
fn wrong_database_urls_are_told_at_once() {
    for url in [
        // No server listens on this port.
        "postgres://127.0.0.1:1/registrar",
        "postgres://registrar.invalid/registrar",
        "mysql://127.0.0.1/registrar",
        "registrar",
    ] {
        assert_fails(&["--database-url", url], &["DATABASE_URL"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_of_a_newer_version_is_named() {
    let database = fresh_database("newer").await;
    let settings = Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    };
    let server = Server::start(settings).await.expect("the server starts");
    server.stop().await;
    sql(database.url(), NEWER).await;
    let url = ["--database-url", database.url()];
    assert_fails(&url, &["schema dcb has version 999", "newer demo-server"]);
}

/// `REGISTRAR_ENABLE_ADMIN_API=1` was an error that did not name the variable.
#[test]
fn each_switch_takes_a_number_and_an_error_names_its_variable() {
    for variable in [
        "REGISTRAR_LOCAL_POSTGRES",
        "REGISTRAR_TEST_MODE",
        "REGISTRAR_ALLOW_CLEANUP",
        "REGISTRAR_ENABLE_ADMIN_API",
        "REGISTRAR_ACCESS_LOG",
    ] {
        let refused = format!("{variable} must be 1");
        // The address is refused without a token, so no server runs.
        for (value, part) in [("1", "add --require-token"), ("maybe", &refused)] {
            // Not in test mode by an option, which would hide the variable.
            let output = Command::new(env!("CARGO_BIN_EXE_demo-server"))
                .args(["--listen", "0.0.0.0"])
                .env_remove("DATABASE_URL")
                .env(variable, value)
                .output()
                .expect("the program runs");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(error.contains(part), "{variable}={value}: {error}");
        }
    }
}
