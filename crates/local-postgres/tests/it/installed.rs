//! A server from the binaries of this machine.

use std::{
    net::{Ipv4Addr, TcpListener},
    thread,
    time::Duration,
};

use crate::common::{ask, execute, folder_of, is_running, pid_of};
use local_postgres::{Durability, Error, LocalPostgres, Options, Source, shared, shared_with};

fn installed(durability: Durability) -> Options {
    Options {
        source: Some(Source::Installed),
        durability,
        ..Options::default()
    }
}

async fn start(durability: Durability) -> LocalPostgres {
    LocalPostgres::start(installed(durability))
        .await
        .expect("PostgreSQL is installed")
}

#[tokio::test]
async fn durable_server_keeps_the_defaults() {
    let server = start(Durability::Durable).await;
    for setting in [
        "SHOW fsync",
        "SHOW synchronous_commit",
        "SHOW full_page_writes",
    ] {
        assert_eq!(ask(server.url(), setting).await, "on", "{setting}");
    }
    assert_eq!(server.durability(), Durability::Durable);
    assert_eq!(server.source(), Source::Installed);
    assert!(
        server.description().contains(server.version()),
        "{}",
        server.description()
    );
    assert!(
        server.description().ends_with("(durable)"),
        "{}",
        server.description()
    );
}

#[tokio::test]
async fn relaxed_server_reports_its_durability() {
    let server = start(Durability::Relaxed).await;
    assert_eq!(ask(server.url(), "SHOW fsync").await, "off");
    assert_eq!(ask(server.url(), "SHOW synchronous_commit").await, "off");
    assert_eq!(server.durability(), Durability::Relaxed);
    assert!(
        server.description().contains("fsync=off"),
        "{}",
        server.description()
    );
}

#[tokio::test]
async fn settings_reach_the_server() {
    let settings = [
        ("max_connections", "17"),
        ("application_name", r"it's a \ test"),
    ];
    let settings = settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let options = Options {
        settings,
        ..installed(Durability::Relaxed)
    };
    let server = LocalPostgres::start(options)
        .await
        .expect("PostgreSQL is installed");
    assert_eq!(ask(server.url(), "SHOW max_connections").await, "17");
    assert_eq!(
        ask(server.url(), "SHOW application_name").await,
        r"it's a \ test"
    );
}

#[tokio::test]
async fn setting_with_a_line_break_is_refused() {
    let settings = vec![("work_mem".to_owned(), "1MB'\nfsync = 'off".to_owned())];
    let refused = LocalPostgres::start(Options {
        settings,
        ..Options::default()
    })
    .await;
    assert!(matches!(refused, Err(Error::BadSetting { name, .. }) if name == "work_mem"));
}

#[tokio::test]
async fn failed_start_returns_the_reason() {
    let settings = vec![("no_such_setting".to_owned(), "1".to_owned())];
    let refused = LocalPostgres::start(Options {
        settings,
        ..installed(Durability::Relaxed)
    })
    .await;
    let message = refused.expect_err("no server takes it").to_string();
    assert!(message.contains("no_such_setting"), "{message}");
}

#[tokio::test]
async fn socket_url_reaches_the_same_server() {
    let server = start(Durability::Relaxed).await;
    let socket = server
        .socket_url()
        .expect("the temporary folder's path is short");
    assert_eq!(folder_of(socket).await, folder_of(server.url()).await);
    assert_eq!(ask(socket, "SELECT inet_server_addr() IS NULL").await, "t");
}

#[tokio::test]
async fn drop_ends_the_process_and_removes_the_folder() {
    let server = start(Durability::Durable).await;
    let (pid, folder) = (pid_of(server.url()).await, folder_of(server.url()).await);
    assert!(is_running(pid) && folder.exists());
    drop(server);
    assert!(!is_running(pid), "the server runs on");
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[tokio::test]
async fn two_servers_run_at_once() {
    let (one, other) = tokio::join!(start(Durability::Relaxed), start(Durability::Relaxed));
    assert_ne!(one.url(), other.url());
    let url = one.url().to_owned();
    drop(other);
    assert_eq!(ask(&url, "SELECT 1").await, "1");
}

#[tokio::test]
async fn databases_are_separate_copied_and_dropped() {
    let server = start(Durability::Relaxed).await;
    let template = server
        .create_database("The Template!")
        .await
        .expect("a database");
    execute(template.url(), "CREATE TABLE t AS SELECT 1 AS x").await;
    let copy = server
        .create_database_from(&template, "copy")
        .await
        .expect("a copy");
    let empty = server.create_database("empty").await.expect("a database");
    assert_eq!(
        ask(
            copy.socket_url().expect("a socket"),
            "SELECT count(*) FROM t"
        )
        .await,
        "1"
    );
    assert_eq!(
        ask(
            empty.url(),
            "SELECT count(*) FROM pg_class WHERE relname = 't'"
        )
        .await,
        "0"
    );

    let _open = <sqlx::PgConnection as sqlx::Connection>::connect(copy.url())
        .await
        .expect("answer");
    let refused = server.create_database_from(&copy, "in_use").await;
    assert!(
        matches!(refused, Err(Error::TemplateInUse { .. })),
        "{refused:?}"
    );

    drop((template, copy, empty));
    let left = "SELECT count(*) FROM pg_database WHERE datname LIKE 'local_postgres_%'";
    assert_eq!(ask(server.url(), left).await, "0");
}

#[tokio::test]
async fn restart_after_a_kill_keeps_committed_rows() {
    let server = start(Durability::Durable).await;
    execute(
        server.url(),
        "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS x",
    )
    .await;
    let (pid, url) = (pid_of(server.url()).await, server.url().to_owned());
    let busy = tokio::spawn(async move {
        let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&url).await?;
        sqlx::raw_sql("SELECT pg_sleep(60)")
            .execute(&mut connection)
            .await
    });
    let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'";
    while ask(server.url(), sleeping).await != "1" {}

    server.kill_hard().expect("a process of ours");
    server.kill_hard().expect("a dead server stays dead");
    assert!(!is_running(pid));
    assert!(
        busy.await.expect("no panic").is_err(),
        "the backend outlived its server"
    );
    assert!(server.create_database("x").await.is_err());

    for _ in 0..2 {
        server.restart().await.expect("recovery");
        assert_eq!(ask(server.url(), "SELECT count(*) FROM kept").await, "1000");
    }
    assert_ne!(pid_of(server.url()).await, pid);
    let folder = folder_of(server.url()).await;
    server.kill_hard().expect("a process of ours");
    drop(server);
    assert!(!folder.exists(), "{} is left", folder.display());
}

/// Another process may take the port of a server that is down, for example with an outgoing connection.
#[tokio::test]
async fn restart_waits_for_its_port_to_become_free() {
    let server = start(Durability::Relaxed).await;
    server.kill_hard().expect("a process of ours");
    let port = server
        .url()
        .rsplit_once(':')
        .and_then(|(_, rest)| rest.split('/').next());
    let port = port
        .and_then(|port| port.parse().ok())
        .expect("a URL with a port");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the server is down");
    let giving_back = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        drop(taken);
    });
    server.restart().await.expect("the port is free again");
    giving_back.join().expect("no panic");
    assert_eq!(ask(server.url(), "SELECT 1").await, "1");
}

#[test]
fn tests_on_different_runtimes_share_one_server_per_durability() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let first = runtime().block_on(async { shared().await.expect("a server").url() });
    let again = runtime().block_on(async {
        let server = shared_with(Durability::Durable).await.expect("a server");
        let database = server.create_database("shared").await.expect("a database");
        assert_eq!(ask(database.url(), "SELECT 1").await, "1");
        server.url()
    });
    let relaxed = runtime().block_on(async { shared_with(Durability::Relaxed).await });
    assert_eq!(first, again);
    assert_ne!(first, relaxed.expect("a server").url());
}
