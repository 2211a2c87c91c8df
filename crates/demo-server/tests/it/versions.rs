//! A database that moves from the oldest to the newest supported version of PostgreSQL.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use demo_server::Settings;
use local_postgres::{Durability, LocalPostgres, NEWEST_VERSION, OLDEST_VERSION, Options, Source};
use serde_json::json;

use crate::dcb::{append_many, positions};
use crate::support::Client;
use crate::support::rpc::write;

/// Servers of the two versions, or the reason why there are none.
async fn servers() -> Result<[LocalPostgres; 2], String> {
    let start = async |version| {
        let options = |source| Options {
            source: Some(source),
            version: Some(version),
            durability: Durability::Relaxed,
            ..Options::default()
        };
        if let Ok(installed) = LocalPostgres::start(options(Source::Installed)).await {
            return Ok(installed);
        }
        let downloaded = LocalPostgres::start(options(Source::Download)).await;
        downloaded.map_err(|failed| failed.to_string())
    };
    Ok([start(OLDEST_VERSION).await?, start(NEWEST_VERSION).await?])
}

/// A program of PostgreSQL's client package.
fn client_program(name: &str) -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let versioned = folders.flatten().map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut programs = versioned.chain(path).map(|folder| folder.join(name));
    programs.find(|program| program.is_file())
}

/// Prints a line that the test harness does not hide.
fn not_run(reason: &str) {
    let _ = writeln!(
        std::io::stderr(),
        "database_moves_to_a_newer_server: not run: {reason}"
    );
}

fn in_database(url: &str) -> Settings {
    Settings {
        database_url: Some(url.to_owned()),
        ..Settings::in_memory()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn database_moves_to_a_newer_server() {
    let (Some(dump), Some(psql)) = (client_program("pg_dump"), client_program("psql")) else {
        return not_run("there is no pg_dump or no psql");
    };
    let [old, new] = match servers().await {
        Ok(servers) => servers,
        Err(reason) => return not_run(&reason),
    };
    let from = old.create_database("moves").await.expect("a database");
    let to = new.create_database("moves").await.expect("a database");
    let client = Client::with(in_database(from.url())).await;
    append_many(&client, 5).await;
    assert_eq!(write(&client, "a-1", 0).await["position"], 0);
    client.stop().await;

    let dumped = Command::new(dump)
        .args(["--no-toast-compression", "--dbname", from.url()])
        .output()
        .expect("pg_dump runs");
    assert!(dumped.status.success(), "{dumped:?}");
    // The dump has no roles, so its grants fail, and the server makes them again.
    let mut restoring = Command::new(psql)
        .args(["--quiet", "--dbname", to.url()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("psql runs");
    let mut input = restoring.stdin.take().expect("a pipe");
    input.write_all(&dumped.stdout).expect("psql reads");
    drop(input);
    assert!(restoring.wait().expect("psql ends").success());

    let client = Client::with(in_database(to.url())).await;
    let numbers: Vec<u64> = (1..=5).collect();
    assert_eq!(positions(&client, &json!({}), &json!({})).await, numbers);
    assert_eq!(write(&client, "a-1", 1).await["position"], 1);
    append_many(&client, 1).await;
    client.stop().await;
    let theirs = crate::support::sql::url_as(to.url(), "message_store");
    let version = crate::support::sql::sql(&theirs, "SELECT stream_version('a-1')").await;
    assert_eq!(version, ["1"]);
}
