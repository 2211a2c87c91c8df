//! Errors of callers when no connection can be opened.

use std::error::Error as _;
use std::time::Duration;

use local_postgres::SessionProxy;
use postgres_store::{
    ConnectError, ConnectErrorKind, Failure, Limits, Pool, Server, WriterConnection, connect,
    connect_error, failure,
};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Error};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::{TEST_TIMEOUT, borrow, database, hosts_of, options};

/// The cause of a failed attempt to connect.
async fn cause(options: PgConnectOptions) -> ConnectError {
    let opened = timeout(TEST_TIMEOUT, connect(&options.into())).await;
    let failed = opened.expect("it ends").expect_err("no connection");
    connect_error(&failed).expect("a cause").clone()
}

/// Options that lead to a port which nothing listens at.
async fn refusing() -> PgConnectOptions {
    let unused = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = unused.local_addr().expect("an address").port();
    options(&format!("postgres://user:secret@127.0.0.1:{port}/none"))
}

#[tokio::test]
async fn cause_names_host_and_kind_in_one_line_without_the_password() {
    let database = database().await;
    let there = || options(database.url());
    let proxy = SessionProxy::start(database.url()).await;
    proxy.silence_new(true);
    let none = options("postgres://user:secret@no-such-host.invalid/none");
    let encrypted = there().ssl_mode(sqlx::postgres::PgSslMode::Require);
    for (options, expected, is_transient, text) in [
        (
            refusing().await,
            ConnectErrorKind::Refused,
            true,
            "refused the connection",
        ),
        (
            options(proxy.url()),
            ConnectErrorKind::NotAnswered,
            true,
            "no answer within 5.0s",
        ),
        (
            none,
            ConnectErrorKind::Dns,
            true,
            "the name no-such-host.invalid can't be looked up",
        ),
        (
            encrypted,
            ConnectErrorKind::Tls,
            false,
            "does not support TLS",
        ),
        (
            there().username("no_such_role"),
            ConnectErrorKind::Authentication,
            false,
            "no_such_role",
        ),
        (
            there().database("no_such_database"),
            ConnectErrorKind::NoDatabase,
            false,
            "no_such_database",
        ),
    ] {
        let (host, port) = (options.get_host().to_owned(), options.get_port());
        let cause = cause(options).await;
        let shown = cause.to_string();
        assert_eq!(cause.kind(), expected, "{shown}");
        assert_eq!(cause.is_transient(), is_transient, "{shown}");
        assert_eq!(cause.hosts()[0].host(), host);
        assert_eq!(cause.hosts()[0].port(), port);
        assert!(cause.source().is_some(), "{shown}");
        assert!(shown.contains(text), "{shown}");
        assert!(shown.contains(&host) && !shown.contains('\n'), "{shown}");
        assert!(!format!("{shown}{cause:?}").contains("secret"), "{cause:?}");
    }
}

#[tokio::test]
async fn full_and_password_protected_servers_say_so() {
    let database = database().await;
    let mut sql = connect(&hosts_of(database.url())).await.expect("a session");
    let role = format!("{}_full", database.name());
    let create = format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'guest' CONNECTION LIMIT 0");
    let created = sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut sql).await;
    created.expect("a role");
    let full = options(database.url()).username(&role).password("guest");
    let full = cause(full).await;
    assert_eq!(full.kind(), ConnectErrorKind::TooManyConnections, "{full}");
    assert!(full.is_transient());
    let drop = format!("DROP ROLE \"{role}\"");
    let dropped = sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut sql).await;
    dropped.expect("the role is dropped");
}

/// Several hosts: the cause of each.
#[tokio::test]
async fn each_host_has_its_cause() {
    let database = database().await;
    let (missing, refusing) = (options(database.url()), refusing().await);
    let url = format!(
        "postgres://postgres:secret@{}:{},{}:{}/no_such_database",
        refusing.get_host(),
        refusing.get_port(),
        missing.get_host(),
        missing.get_port()
    );
    let server = Server::new(&url, "test", false).expect("a URL");
    let failed = connect(server.hosts()).await.expect_err("no host");
    let cause = connect_error(&failed).expect("a cause");
    let kinds: Vec<_> = cause.hosts().iter().map(|host| host.kind()).collect();
    assert_eq!(
        kinds,
        [ConnectErrorKind::Refused, ConnectErrorKind::NoDatabase]
    );
    // The first host may come back.
    assert!(cause.is_transient());
    assert_eq!(cause.kind(), ConnectErrorKind::Refused);
}

/// The only connection has been lost, and another is about to be opened when the time is over.
#[tokio::test]
async fn attempt_that_has_just_begun_is_no_outage() {
    const LIMIT: Duration = Duration::from_secs(2);
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let pool = Pool::new(options(proxy.url()), Limits::new(1, LIMIT));
    let lent = borrow(&pool).await;
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { pool.acquire().await }
    });
    proxy.silence_new(true);
    sleep(LIMIT * 3 / 4).await;
    lent.discard();
    let waited = waiting.await.expect("no panic");
    assert!(matches!(waited, Err(Error::PoolTimedOut)), "{waited:?}");
}

/// An attempt takes up to 5 s. A caller with less time learns of it too.
#[tokio::test]
async fn hanging_attempt_is_the_cause_of_a_shorter_wait() {
    const LIMIT: Duration = Duration::from_secs(1);
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    proxy.silence_new(true);
    let pool = Pool::new(options(proxy.url()), Limits::new(1, LIMIT));
    // The second one waits for its turn, and makes no attempt.
    let (first, second) = tokio::join!(pool.acquire(), pool.acquire());
    for waited in [first, second] {
        let failed = waited.expect_err("no answer");
        let cause = connect_error(&failed).expect("a cause");
        assert_eq!(cause.kind(), ConnectErrorKind::NotAnswered, "{cause}");
        assert_eq!(failure(&failed), Failure::NotSent);
    }
}

/// The callers that wait for their turn make no attempt, and learn the cause too.
#[tokio::test]
async fn all_waiting_callers_learn_the_cause() {
    const LIMIT: Duration = Duration::from_secs(1);
    let pool = Pool::new(refusing().await, Limits::new(1, LIMIT));
    let callers = [(); 3].map(|()| {
        let pool = pool.clone();
        tokio::spawn(async move { pool.acquire().await.map(drop) })
    });
    for caller in callers {
        let failed = caller.await.expect("no panic").expect_err("no server");
        let cause = connect_error(&failed).expect("a cause");
        assert_eq!(cause.kind(), ConnectErrorKind::Refused, "{cause}");
    }
}

#[tokio::test]
async fn writer_learns_of_a_silent_server_within_its_limit() {
    const LIMIT: Duration = Duration::from_secs(1);
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    proxy.silence_new(true);
    let server = Server::new(proxy.url(), "test", false).expect("a URL");
    let [mut patient, mut writer] =
        [LIMIT * 4, LIMIT].map(|limit| WriterConnection::new(server.writer(limit)));
    let failed = tokio::select! {
        biased;
        _ = patient.connect() => panic!("a writer with a longer limit ends first"),
        failed = writer.connect() => failed.expect_err("no answer"),
    };
    let cause = connect_error(&failed).expect("a cause");
    assert_eq!(cause.kind(), ConnectErrorKind::NotAnswered, "{cause}");
}
