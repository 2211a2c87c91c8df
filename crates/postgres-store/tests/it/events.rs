//! Events about a server that can't be reached, locks and lost answers.

use std::time::Duration;

use local_postgres::SessionProxy;
use postgres_store::{Hosts, Limits, Pool, Server, WriterConnection, connect};
use store_meter::testing::Log;
use tokio::net::TcpListener;

use super::{borrow, database, hosts_of, options};

const LOST: &str = "PostgreSQL can't be reached";
const BACK: &str = "PostgreSQL can be reached again";

/// The port of a URL.
fn port(url: &str) -> u16 {
    options(url).get_port()
}

/// Forwards one connection after the other from this port to the server, until it is dropped.
async fn forward(port: u16, server: String) -> tokio::task::JoinHandle<()> {
    let listener = loop {
        match TcpListener::bind(("127.0.0.1", port)).await {
            Ok(listener) => break listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    tokio::spawn(async move {
        // The connections end with this task.
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let server = server.clone();
            connections.spawn(async move {
                let opened = tokio::net::TcpStream::connect(server).await;
                let mut server = opened.expect("the server answers");
                // Ends when either side closes the connection.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    })
}

#[tokio::test]
async fn outage_of_many_calls_is_one_warning_and_one_message_when_it_ends() {
    let database = database().await;
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let server = format!("127.0.0.1:{}", port(database.url()));
    let url = database.url().replace(&server, &address.to_string());
    let forwarding = forward(address.port(), server.clone()).await;

    let log = Log::begin();
    let pool = Pool::new(options(&url), Limits::new(4, Duration::from_millis(200)));
    borrow(&pool).await.discard();
    forwarding.abort();
    let _ = forwarding.await;
    for _ in 0..10 {
        pool.acquire().await.expect_err("there is no server");
    }
    let port = format!("port={}", address.port());
    log.assert_one(LOST, &["WARN", "host=\"127.0.0.1\"", &port, "cause="]);
    // The relay may break off a connection while it ends.
    let causes =
        ["refused", "broke the connection off"].map(|cause| log.lines(&[LOST, cause]).len());
    assert_eq!(causes.iter().sum::<usize>(), 1, "{causes:?}");
    assert!(log.lines(&[BACK]).is_empty());

    let _forwarding = forward(address.port(), server).await;
    while pool.acquire().await.is_err() {}
    for _ in 0..3 {
        borrow(&pool).await.discard();
    }
    log.assert_one(LOST, &[]);
    log.assert_one(BACK, &["INFO", &port, "after="]);
    let password = options(database.url());
    assert!(
        log.lines(&[&format!("{}:", password.get_username())])
            .is_empty()
    );
}

/// The writer gives up before the attempt does.
#[tokio::test]
async fn silent_server_is_told_too() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let log = Log::begin();
    let server = Server::new(proxy.url(), "test", false).expect("a URL");
    let session = server.writer(Duration::from_secs(1));
    WriterConnection::new(session.clone())
        .connect()
        .await
        .expect("a session");
    proxy.silence_new(true);
    for _ in 0..3 {
        let mut writer = WriterConnection::new(session.clone());
        writer.connect().await.expect_err("no answer");
    }
    log.assert_one(LOST, &["WARN", "application=\"test\"", "no answer within"]);
    proxy.silence_new(false);
    WriterConnection::new(session)
        .connect()
        .await
        .expect("a session");
    log.assert_one(BACK, &["INFO"]);
}

/// The caller gets the error, and there was nothing to lose.
#[tokio::test]
async fn server_that_was_never_reached_is_not_told() {
    let log = Log::begin();
    let nowhere: Hosts = hosts_of("postgres://nobody:secret@127.0.0.1:1/nothing");
    for _ in 0..3 {
        connect(&nowhere).await.expect_err("there is no server");
    }
    assert!(log.lines(&[]).is_empty(), "{:?}", log.lines(&[]));
}

#[tokio::test]
async fn session_that_holds_a_lock_is_named() {
    const LOCK: &str = "SELECT pg_advisory_xact_lock(42)::text AS locked";
    let database = database().await;
    let log = Log::begin();
    let server = Server::new(database.url(), "waits", false).expect("a URL");
    let mut writer = WriterConnection::new(server.writer(Duration::from_secs(4)));
    writer.connect().await.expect("a session");
    writer
        .write(sqlx::query(LOCK))
        .await
        .expect("the lock is free");
    assert!(log.lines(&["a lock of another session"]).is_empty());

    let holder = options(database.url()).application_name("holds");
    let pool = Pool::new(holder, Limits::new(1, Duration::from_secs(10)));
    let mut holder = borrow(&pool).await;
    let locked = sqlx::raw_sql("BEGIN; SELECT pg_advisory_xact_lock(42)");
    locked
        .execute(&mut *holder)
        .await
        .expect("the lock is free");
    for _ in 0..2 {
        let waited = writer.write(sqlx::query(LOCK)).await;
        waited.expect_err("the lock is held for longer");
    }
    let holder = format!("holder={}", holder.process().id());
    let parts = [
        "WARN",
        "holder_application=\"holds\"",
        "idle in transaction",
        "waited=2.",
    ];
    log.assert_one("a lock of another session delays writes", &parts);
    log.assert_one("a lock of another session delays writes", &[&holder]);
}
