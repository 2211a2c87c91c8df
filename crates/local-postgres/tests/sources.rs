//! The choice of a source, and the sources that not every machine has.

mod common;

use std::{
    env,
    io::{self, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Output,
};

use common::{Served, ask, execute, serve};
use local_postgres::{Durability, Error, LocalPostgres, Options, Source};

fn from(source: Source, durability: Durability) -> Options {
    Options {
        source: Some(source),
        durability,
        ..Options::default()
    }
}

fn stderr(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_unknown_source_is_an_error() {
    let output = serve()
        .env("POSTGRES_SOURCE", "bogus")
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    assert!(
        message.contains("POSTGRES_SOURCE is \"bogus\""),
        "{message}"
    );
}

#[test]
fn a_forced_source_that_is_missing_does_not_fall_through() {
    let output = serve()
        .env("POSTGRES_SOURCE", "url")
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    assert!(message.contains("DATABASE_URL is not set"), "{message}");
}

#[test]
fn a_database_url_that_does_not_answer_does_not_fall_through() {
    let url = "postgres://someone:secret@127.0.0.1:1/x";
    let output = serve()
        .env("DATABASE_URL", url)
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    assert!(
        message.contains("127.0.0.1:1/x") && !message.contains("secret"),
        "{message}"
    );
}

#[test]
fn without_any_source_one_message_lists_all_four() {
    let empty = tempfile::tempdir().expect("a folder");
    let output = serve()
        .env("PATH", empty.path())
        .env("PG_BIN_DIR", empty.path())
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        .env("XDG_CACHE_HOME", open_to_all(empty.path()))
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    let lacks = [
        "DATABASE_URL is not set",
        "PG_BIN_DIR=",
        "no Docker engine",
        "Maven Central",
    ];
    for part in lacks {
        assert!(message.contains(part), "{part} in: {message}");
    }
}

#[test]
fn the_choice_is_said_in_one_line() {
    let mut served = Served::start(serve().env("POSTGRES_SOURCE", "installed"));
    served.signal("-INT");
    let mut errors = String::new();
    let mut pipe = served.process.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut errors).expect("text");
    served.process.wait().expect("the example ends");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        errors.starts_with("local-postgres: PostgreSQL "),
        "{errors}"
    );
    assert!(errors.contains("from installed binaries in /"), "{errors}");
}

#[tokio::test]
async fn a_server_behind_database_url_is_used_and_left() {
    let host = LocalPostgres::start(from(Source::Installed, Durability::Relaxed)).await;
    let host = host.expect("PostgreSQL is installed");
    execute(host.url(), "CREATE TABLE theirs ()").await;
    let served = Served::start(serve().env("DATABASE_URL", host.url()));
    assert_eq!(served.url, host.url());
    served.signal("-INT");
    let output = served.process.wait_with_output().expect("the example ends");
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(line.contains("its own settings: fsync=off"), "{line}");
    assert_eq!(ask(host.url(), "SELECT count(*) FROM theirs").await, "0");
}

#[cfg(feature = "container")]
#[tokio::test]
async fn a_container_starts_and_is_removed() {
    if env::var_os("DOCKER_HOST").is_none() && !Path::new("/var/run/docker.sock").exists() {
        say("a_container_starts_and_is_removed: not run: no DOCKER_HOST, no /var/run/docker.sock");
        return;
    }
    let durable = LocalPostgres::start(from(Source::Container, Durability::Durable)).await;
    let durable = durable.expect("a Docker engine with POSTGRES_IMAGE");
    assert_eq!(ask(durable.url(), "SHOW fsync").await, "on");
    assert_eq!(ask(durable.url(), "SHOW max_connections").await, "300");
    let database = durable
        .create_database("contained")
        .await
        .expect("a database");
    assert_eq!(ask(database.url(), "SELECT 1").await, "1");
    assert!(matches!(
        durable.kill_hard(),
        Err(Error::NotOurs {
            from: Source::Container
        })
    ));
    drop(database);
    let url = durable.url().to_owned();
    drop(durable);
    assert!(is_gone(&url), "{url} still answers");

    let relaxed = LocalPostgres::start(from(Source::Container, Durability::Relaxed)).await;
    let relaxed = relaxed.expect("a Docker engine with POSTGRES_IMAGE");
    assert_eq!(ask(relaxed.url(), "SHOW fsync").await, "off");
    drop(relaxed);

    let mut served = Served::start(serve().env("POSTGRES_SOURCE", "container"));
    served.signal("-KILL");
    served.process.wait().expect("the example ends");
    common::wait_until("the container is removed", || is_gone(&served.url));
}

#[cfg(feature = "download")]
#[test]
fn two_processes_download_once() {
    if env::var_os("HTTPS_PROXY").is_none() && TcpStream::connect("repo1.maven.org:443").is_err() {
        say("two_processes_download_once: not run: repo1.maven.org does not answer");
        return;
    }
    let cache = tempfile::tempdir().expect("a folder");
    let download = || {
        let mut serve = serve();
        serve.env("POSTGRES_SOURCE", "download");
        serve.env("XDG_CACHE_HOME", open_to_all(cache.path()));
        serve
    };
    let (mut one, mut other) = (download(), download());
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(|| Served::start(&mut one));
        let other = scope.spawn(|| Served::start(&mut other));
        (
            one.join().expect("a server"),
            other.join().expect("a server"),
        )
    });
    let mut errors = String::new();
    for served in [one, other] {
        served.signal("-INT");
        let output = served.process.wait_with_output().expect("the example ends");
        errors.push_str(&String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(
        errors.matches("unpacking PostgreSQL").count(),
        1,
        "{errors}"
    );
    assert_eq!(errors.matches("from download in").count(), 2, "{errors}");
}

/// Past the test harness, which shows the words of failed tests only.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn is_gone(url: &str) -> bool {
    let address = url
        .rsplit_once('@')
        .and_then(|(_, rest)| rest.split('/').next());
    TcpStream::connect(address.expect("an address")).is_err()
}

/// A temporary folder is closed to other users, and the server may run as one.
fn open_to_all(folder: &Path) -> &Path {
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, all).expect("a folder of ours");
    folder
}
