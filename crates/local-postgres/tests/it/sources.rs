//! The choice of a source, and the sources that some machines lack.

use std::{
    env,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use crate::common::{Served, ask, execute, serve};
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
fn unknown_source_is_an_error() {
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
fn unknown_version_is_an_error() {
    let output = serve()
        .env("POSTGRES_VERSION", "newest")
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    assert!(
        message.contains("POSTGRES_VERSION is \"newest\""),
        "{message}"
    );
}

#[test]
fn installed_binaries_of_another_version_are_not_used() {
    let mut serve = serve();
    serve.env("POSTGRES_SOURCE", "installed");
    let output = serve.env("POSTGRES_VERSION", "9").output();
    let message = stderr(&output.expect("the example runs"));
    assert!(
        message.contains("postgres of PostgreSQL 9 are"),
        "{message}"
    );
}

#[tokio::test]
async fn installed_binaries_of_the_named_version_are_used() {
    let any = LocalPostgres::start(from(Source::Installed, Durability::Relaxed)).await;
    let any = any.expect("PostgreSQL is installed");
    let (major, _) = any.version().split_once('.').expect("a version");
    let mut serve = serve();
    serve.env("POSTGRES_SOURCE", "installed");
    let served = Served::start(serve.env("POSTGRES_VERSION", major));
    let version = ask(&served.url, "SHOW server_version").await;
    assert!(version.starts_with(major), "{version}");
    served.signal("-INT");
}

#[test]
fn forced_source_that_is_missing_does_not_fall_through() {
    let output = serve()
        .env("POSTGRES_SOURCE", "url")
        .output()
        .expect("the example runs");
    let message = stderr(&output);
    assert!(message.contains("DATABASE_URL is not set"), "{message}");
}

#[test]
fn database_url_that_does_not_answer_does_not_fall_through() {
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
fn failure_of_all_sources_lists_all_four() {
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
fn chosen_source_is_printed_in_one_line() {
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

/// The server's programs run in `/`, so a relative path must be resolved before they start.
#[tokio::test]
async fn binaries_are_found_by_a_relative_path() {
    let server = LocalPostgres::start(from(Source::Installed, Durability::Relaxed)).await;
    let server = server.expect("PostgreSQL is installed");
    let (_, binaries) = server
        .description()
        .split_once(" binaries in ")
        .expect("their folder");
    let (binaries, _) = binaries.split_once(" (").expect("their folder");
    let version = Path::new(binaries).parent().expect("a folder above");
    let mut serve = serve();
    serve.env("POSTGRES_SOURCE", "installed");
    serve.current_dir(version).env("PG_BIN_DIR", "bin");
    let served = Served::start(&mut serve);
    assert_eq!(ask(&served.url, "SELECT 1").await, "1");
    served.signal("-INT");
}

#[tokio::test]
async fn temporary_folder_may_have_any_name() {
    let folder = tempfile::Builder::new()
        .prefix("a, 'b\\ \"c")
        .tempdir()
        .expect("a folder");
    let all = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), all).expect("a folder of ours");
    let mut serve = serve();
    serve.env("POSTGRES_SOURCE", "installed");
    let served = Served::start(serve.env("TMPDIR", folder.path()));
    let sockets = ask(&served.url, "SHOW unix_socket_directories").await;
    assert!(sockets.contains("a, 'b"), "{sockets}");
    nothing_is_left_in(folder.path(), served);
}

/// If the caller is root, the server and its watchdog run as another user. That user may not remove
/// files from such a folder.
#[test]
fn temporary_folder_that_only_its_owner_may_change_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut serve = serve();
    serve.env("POSTGRES_SOURCE", "installed");
    let served = Served::start(serve.env("TMPDIR", open_to_all(folder.path())));
    nothing_is_left_in(folder.path(), served);
}

#[tokio::test]
async fn server_behind_database_url_is_used_and_keeps_running() {
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

#[tokio::test]
async fn database_url_may_name_several_hosts() {
    let host = LocalPostgres::start(from(Source::Installed, Durability::Relaxed)).await;
    let host = host.expect("PostgreSQL is installed");
    let several = host.url().replace("@127.0.0.1", "@127.0.0.1:1,127.0.0.1");
    let served = Served::start(serve().env("DATABASE_URL", &several));
    assert_eq!(served.url, host.url());
    served.signal("-INT");
    served.process.wait_with_output().expect("the example ends");
    let dead = "postgres://someone:secret@127.0.0.1:1,127.0.0.1:2/x";
    let output = serve().env("DATABASE_URL", dead).output();
    let message = stderr(&output.expect("the example runs"));
    let names_both = message.contains("127.0.0.1:1 ") && message.contains("127.0.0.1:2 ");
    assert!(names_both && !message.contains("secret"), "{message}");
}

#[tokio::test]
async fn container_starts_and_is_removed() {
    let socket = Path::new("/var/run/docker.sock");
    let engine = env::var_os("DOCKER_HOST").or_else(|| socket.exists().then(|| socket.into()));
    if unmet::need("docker", engine).is_none() {
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
    crate::common::wait_until("the container is removed", || is_gone(&served.url));
}

/// An engine may pull an image for minutes. The test runs itself in a second process, with an engine
/// that never creates a container.
#[test]
fn dropped_container_start_does_not_wait_for_the_engine() {
    const NAME: &str = "sources::dropped_container_start_does_not_wait_for_the_engine";
    if env::var_os("GIVES_UP").is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        return runtime.block_on(async {
            let start = LocalPostgres::start(from(Source::Container, Durability::Relaxed));
            let given_up = tokio::time::timeout(Duration::from_millis(500), start).await;
            assert!(given_up.is_err(), "{given_up:?}");
        });
    }
    let engine = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = engine.local_addr().expect("an address");
    thread::spawn(move || {
        for connection in engine.incoming().flatten() {
            thread::spawn(move || answer_all_but_posts(connection));
        }
    });
    let mut itself = Command::new(env::current_exe().expect("the path of this test"));
    itself.args(["--exact", NAME]).env("GIVES_UP", "1");
    let mut itself = itself
        .env("DOCKER_HOST", format!("tcp://{address}"))
        .spawn()
        .expect("it runs");
    let mut ended = None;
    crate::common::wait_until("the start is given up", || {
        ended = itself.try_wait().expect("a process of ours");
        ended.is_some()
    });
    assert!(ended.is_some_and(|status| status.success()));
}

/// Answers every request until a POST, which would create something.
fn answer_all_but_posts(mut connection: TcpStream) {
    let (mut part, mut request) = ([0; 4096], Vec::new());
    let mut silent = false;
    while let Ok(length @ 1..) = connection.read(&mut part) {
        request.extend_from_slice(&part[..length]);
        silent |= request.starts_with(b"POST");
        // A request can arrive in several parts.
        if !silent && request.ends_with(b"\r\n\r\n") {
            let answer =
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
            connection.write_all(answer).expect("it reads the answer");
            request.clear();
        }
    }
}

#[cfg(feature = "download")]
#[test]
fn two_processes_download_once() {
    if unmet::need("download", maven_answers()).is_none() {
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
    let (one, other) = thread::scope(|scope| {
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

fn nothing_is_left_in(folder: &Path, served: Served) {
    served.signal("-INT");
    served.process.wait_with_output().expect("the example ends");
    crate::common::wait_until("the folder is empty", || {
        std::fs::read_dir(folder).is_ok_and(|mut left| left.next().is_none())
    });
}

/// If the caller is root, another user runs the downloaded binaries.
#[cfg(feature = "download")]
#[test]
fn download_does_not_depend_on_the_umask() {
    if unmet::need("download", maven_answers()).is_none() {
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    let mut masked = Command::new("sh");
    masked
        .args(["-c", "umask 077; exec \"$0\""])
        .arg(serve().get_program());
    masked.stdout(Stdio::piped()).stderr(Stdio::piped());
    masked
        .env_remove("DATABASE_URL")
        .env("POSTGRES_SOURCE", "download");
    let cache = open_to_all(place.path()).join("cache");
    let served = Served::start(masked.env("XDG_CACHE_HOME", cache));
    served.signal("-INT");
    served.process.wait_with_output().expect("the example ends");
}

/// Whether Maven Central can be reached, perhaps through a proxy.
#[cfg(feature = "download")]
fn maven_answers() -> Option<()> {
    let has_proxy = env::var_os("HTTPS_PROXY").is_some();
    (has_proxy || TcpStream::connect("repo1.maven.org:443").is_ok()).then_some(())
}

fn is_gone(url: &str) -> bool {
    let address = url
        .rsplit_once('@')
        .and_then(|(_, rest)| rest.split('/').next());
    TcpStream::connect(address.expect("an address")).is_err()
}

/// Opens a temporary folder to other users, because the server may run as another user.
fn open_to_all(folder: &Path) -> &Path {
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, all).expect("a folder of ours");
    folder
}
