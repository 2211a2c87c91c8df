//! Errors and durations of calls while the server can't be reached.

use std::time::Duration;

use local_postgres::{Durability, LocalPostgres, Options, SessionProxy};
use message_store::postgres::{Config, ConnectError, ConnectErrorKind, PostgresStore};
use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, Fault, MessageStore as _, StreamRead, Written,
};
use tokio::time::{sleep, timeout};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_database, message, separate_server, stream_name, whole_stream, write,
};

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The cause that an error carries.
fn cause(failed: &Error) -> &ConnectError {
    let Error::Fault(Fault::Unreachable(reason)) = failed else {
        panic!("{failed:?}");
    };
    let source = std::error::Error::source(reason).expect("a source");
    source.downcast_ref().expect("a cause")
}

/// A read that waits for a lock loses the only connection, and another one is about to be opened when
/// the time of the waiting reads is over.
#[tokio::test(flavor = "multi_thread")]
async fn read_that_waits_for_a_new_connection_times_out() {
    let database = fresh_database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut config = Config::new(proxy.url());
    config.read_connections = 1;
    config.read_timeout = Duration::from_secs(2);
    let store = connect(config).await;
    write(&store, "a-1", 1).await;
    whole_stream(&store, "a-1").await;
    let mut locker = Sql::connect(database.url()).await;
    locker.run("BEGIN").await;
    locker.run("LOCK TABLE message_store.messages").await;
    let reads: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.stream_version(&stream_name("a-1")).await })
        })
        .collect();
    let mut observer = Sql::connect(database.url()).await;
    let waiting =
        "FROM pg_locks WHERE NOT granted AND relation = 'message_store.messages'::regclass";
    let waits = format!("SELECT count(*)::text {waiting}");
    while observer.number(&waits).await == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(1300)).await;
    proxy.silence_new(true);
    let lost = format!("SELECT count(pg_terminate_backend(pid))::text {waiting}");
    observer.number(&lost).await;
    for read in reads {
        let failed = timeout(TIMEOUT, read).await.unwrap().unwrap().unwrap_err();
        assert!(
            matches!(failed, Error::Fault(Fault::TimedOut { .. })),
            "{failed}"
        );
    }
    locker.run("COMMIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_connection_is_the_cause() {
    let server = relaxed_server().await;
    let mut config = Config::new(server.url());
    config.read_timeout = Duration::from_secs(1);
    let store = connect(config).await;
    write(&store, "a-1", 1).await;
    store.head().await.unwrap();
    server.kill_hard().unwrap();
    let failed = store.head().await.unwrap_err();
    assert_eq!(cause(&failed).kind(), ConnectErrorKind::Refused, "{failed}");
    let host = &cause(&failed).hosts()[0];
    let place = format!("{}:{}", host.host(), host.port());
    assert!(server.url().contains(&place), "{place}");
    let text = format!("the database can't be reached: {place} refused the connection");
    assert_eq!(failed.to_string(), text);
}

const LIMIT: Duration = Duration::from_secs(2);
/// Longer than a failing test waits, so that a call that keeps this limit instead of its own fails.
const LONG: Duration = Duration::from_secs(600);

async fn relaxed_server() -> LocalPostgres {
    let options = Options {
        durability: Durability::Relaxed,
        ..Options::default()
    };
    separate_server(options).await
}

fn cause_kinds() -> [ConnectErrorKind; 2] {
    [ConnectErrorKind::Refused, ConnectErrorKind::NotAnswered]
}

/// The error of a call that keeps [`LIMIT`].
async fn soon<T>(call: impl Future<Output = Result<T, Error>>) -> Error {
    // Boxed, because the test makes many calls.
    let failed = timeout(TIMEOUT, Box::pin(call)).await.expect("it ends");
    failed.err().expect("an error")
}

async fn write_one(store: &PostgresStore) -> Result<Written, Error> {
    let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
    store.write_message(&stream, message(1), any).await
}

/// Makes each kind of call with the one limit that it has, while the other limit is long.
async fn assert_each_call_keeps_its_limit(config: &Config, store: &PostgresStore) {
    let expected = cause_kinds();
    // `health` has a short limit.
    let unhealthy = soon(store.health()).await;
    assert!(expected.contains(&cause(&unhealthy).kind()), "{unhealthy}");
    if config.read_timeout == LIMIT {
        let (stream, category) = (stream_name("a-1"), Category::new("a").unwrap());
        let reads = [
            soon(store.head()).await,
            soon(store.get_stream_messages(&stream, StreamRead::new())).await,
            soon(store.get_category_messages(&category, CategoryRead::new())).await,
            soon(store.get_last_stream_message(&stream, None)).await,
            soon(store.stream_version(&stream)).await,
            soon(store.info()).await,
            soon(store.checkpoint("a")).await,
            soon(store.delete_checkpoint("a")).await,
        ];
        for failed in &reads {
            assert!(expected.contains(&cause(failed).kind()), "{failed}");
        }
        return;
    }
    // The first write loses its connection, so that its outcome is unknown.
    soon(write_one(store)).await;
    let mut next = soon(write_one(store)).await;
    // It may have waited behind the first one.
    if matches!(next, Error::Fault(Fault::TimedOut { .. })) {
        next = soon(write_one(store)).await;
    }
    assert!(expected.contains(&cause(&next).kind()), "{next}");
}

/// Two configurations: reads have little time, or writes have.
fn limits(url: &str) -> [Config; 2] {
    [(LIMIT, LONG), (LONG, LIMIT)].map(|(read, write)| {
        let mut config = Config::new(url);
        (config.read_timeout, config.write_timeout) = (read, write);
        config
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_refusing_server_end_within_one_limit_with_the_cause() {
    let server = relaxed_server().await;
    let configs = limits(server.url());
    let first = connect(configs[0].clone()).await;
    let stores = [first, connect(configs[1].clone()).await];
    server.kill_hard().unwrap();
    for (config, store) in configs.iter().zip(&stores) {
        assert_each_call_keeps_its_limit(config, store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_silent_server_end_within_one_limit_with_the_cause() {
    let database = fresh_database().await;
    for mut config in limits(database.url()) {
        let proxy = SessionProxy::start(database.url()).await;
        config.url = proxy.url().to_owned();
        let store = connect(config.clone()).await;
        proxy.silence_new(true);
        proxy.silence();
        assert_each_call_keeps_its_limit(&config, &store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_name_is_the_cause() {
    let nowhere = Config::new("postgres://app@no-such-host.invalid/none");
    let failed = soon(PostgresStore::connect(nowhere)).await;
    assert_eq!(cause(&failed).kind(), ConnectErrorKind::Dns, "{failed}");
    assert!(failed.is_transient());
}

/// The configuration of the role `guarded`, whose calls have a minute.
fn guarded(server: &LocalPostgres, password: &str) -> Config {
    let (_, rest) = server.url().split_once('@').unwrap();
    let mut config = Config::new(format!("postgres://guarded:{password}@{rest}"));
    (config.read_timeout, config.write_timeout) = (LONG, LONG);
    config
}

/// A server on which the role `guarded` needs the password `right`.
async fn guarded_server() -> LocalPostgres {
    let server = relaxed_server().await;
    let mut sql = Sql::connect(server.url()).await;
    for statement in [
        "CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'",
        "COPY (VALUES ('host all guarded all scram-sha-256'), ('host all all all trust'), \
                      ('local all all trust')) TO PROGRAM 'cat > pg_hba.conf'",
        "SELECT pg_reload_conf()::text",
    ] {
        sql.run(statement).await;
    }
    let wrong = async || PostgresStore::connect(guarded(&server, "wrong")).await;
    while wrong().await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
    server
}

fn assert_refused_for_good(failed: &Error, expected: &str) {
    let Error::Fault(Fault::Refused(reason)) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(reason.code(), Some(expected), "{failed}");
    assert!(reason.message().contains("127.0.0.1:"), "{failed}");
    assert!(!failed.is_transient(), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_or_role_or_database_is_told_at_once() {
    let server = guarded_server().await;
    let store = connect(guarded(&server, "right")).await;
    let wrong = soon(PostgresStore::connect(guarded(&server, "wrong"))).await;
    assert_refused_for_good(&wrong, "28P01");
    let url = server.url();
    let (_, rest) = url.split_once('@').unwrap();
    let role = Config::new(format!("postgres://no_such_role@{rest}"));
    assert_refused_for_good(&soon(PostgresStore::connect(role)).await, "28000");
    let (place, _) = url.rsplit_once('/').unwrap();
    let database = Config::new(format!("{place}/no_such_database"));
    assert_refused_for_good(&soon(PostgresStore::connect(database)).await, "3D000");
    let encrypted = Config::new(format!("{url}?sslmode=require"));
    let unencrypted = soon(PostgresStore::connect(encrypted)).await;
    assert!(matches!(&unencrypted, Error::Fault(Fault::Refused(_))) && !unencrypted.is_transient());
    // The password changes while the store is open.
    write_one(&store).await.unwrap();
    store.head().await.unwrap();
    let mut sql = Sql::connect(url).await;
    sql.run("ALTER ROLE guarded PASSWORD 'other'").await;
    sql.run(
        "SELECT pg_terminate_backend(pid, 10000)::text FROM pg_stat_activity \
          WHERE usename = 'guarded'",
    )
    .await;
    assert_refused_for_good(&soon(store.head()).await, "28P01");
    // The first write learns that its connection is gone.
    soon(write_one(&store)).await;
    assert_refused_for_good(&soon(write_one(&store)).await, "28P01");
    sql.run("ALTER ROLE guarded PASSWORD 'right'").await;
    store.head().await.unwrap();
}

/// With `fail_fast`, only the attempt that finds the outage may take time.
async fn assert_calls_fail_at_once(store: &PostgresStore) {
    const CALLS: u32 = 50;
    soon(store.head()).await;
    // The first write may lose its connection.
    soon(write_one(store)).await;
    // The second may wait behind it.
    soon(write_one(store)).await;
    let calls = async {
        for _ in 0..CALLS {
            for failed in [soon(store.head()).await, soon(write_one(store)).await] {
                assert!(cause_kinds().contains(&cause(&failed).kind()), "{failed}");
            }
        }
    };
    // If each write waited for its own limit, they would take longer.
    timeout(TIMEOUT, calls).await.expect("they end");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_fail_at_once_during_an_outage_if_the_store_shall() {
    let server = relaxed_server().await;
    let proxy = SessionProxy::start(server.url()).await;
    let mut config = Config::new(server.url()).fail_fast();
    (config.read_timeout, config.write_timeout) = (LONG, LIMIT);
    let store = connect(config.clone()).await;
    write_one(&store).await.unwrap();
    config.url = proxy.url().to_owned();
    let proxied = connect(config).await;
    proxy.silence_new(true);
    proxy.silence();
    assert_calls_fail_at_once(&proxied).await;
    proxy.silence_new(false);
    wait_for(&proxied).await;
    server.kill_hard().unwrap();
    assert_calls_fail_at_once(&store).await;
    server.restart().await.unwrap();
    wait_for(&store).await;
}

/// Waits until the store reads and writes.
async fn wait_for(store: &PostgresStore) {
    let serves = async {
        while store.head().await.is_err() || write_one(store).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, serves).await.expect("the store is back");
}
