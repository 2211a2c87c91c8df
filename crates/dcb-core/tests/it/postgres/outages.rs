//! Errors and limits of calls while the server can't be reached.

use std::time::Duration;

use dcb_core::postgres::{Config, ConnectError, ConnectErrorKind, PostgresStore};
use dcb_core::{
    DecisionModel, Error, Event, EventStore as _, Fault, Projector, Query, ReadOptions,
};
use local_postgres::{Durability, LocalPostgres, SessionProxy};
use tokio::time::{sleep, timeout};

use crate::support::events::tagged;
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, fresh_log, log_on, private_server};
use crate::support::wait::wait_until;

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
    let log = fresh_log().await;
    connect(&log).await.append(tagged("a")).await.unwrap();
    let proxy = SessionProxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    through.read_connections = 1;
    through.read_timeout = Duration::from_secs(2);
    let store = connect(&through).await;
    store.head().await.unwrap();
    let mut locker = Sql::connect(&log.url).await;
    locker.run("BEGIN").await;
    let lock = format!("LOCK TABLE {}.event", log.schema);
    locker.run(&lock).await;
    let reads: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.query(&Query::all(), ReadOptions::new()).await })
        })
        .collect();
    let mut observer = Sql::connect(&log.url).await;
    let relation = format!("relation = '{}.event'::regclass", log.schema);
    let waiting = format!("FROM pg_locks WHERE NOT granted AND {relation}");
    let waits = format!("SELECT count(*)::text {waiting}");
    wait_until("a read waits", async || observer.number(&waits).await > 0).await;
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
    let server = private_server(Durability::Relaxed, &[]).await;
    let mut log = log_on(server.url());
    log.read_timeout = Duration::from_secs(1);
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
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

/// A decision with this limit, which appends an event.
async fn decide(store: &PostgresStore, limit: Duration) -> Error {
    let counted = Projector::counter(Query::builder().tag("a").build().unwrap());
    let decided = DecisionModel::new(counted).time_limit(limit);
    let decided = decided.decide(store, |_| -> Result<Event, Error> { Ok(tagged("a")) });
    decided.await.unwrap_err()
}

/// The error of a call that keeps [`LIMIT`].
async fn soon<T>(call: impl Future<Output = Result<T, Error>>) -> Error {
    // Boxed, because the test makes many calls.
    let failed = timeout(TIMEOUT, Box::pin(call)).await.expect("it ends");
    failed.err().expect("an error")
}

/// Makes each kind of call with the one limit that it has, while all other limits are long.
async fn assert_each_call_keeps_its_limit(log: &Config, store: &PostgresStore) {
    let (reads_end_soon, expected) = (log.read_timeout == LIMIT, cause_kinds());
    // `health` has a short limit.
    let unhealthy = soon(store.health()).await;
    assert!(expected.contains(&cause(&unhealthy).kind()), "{unhealthy}");
    if reads_end_soon {
        let all = Query::all();
        let reads = [
            soon(store.head()).await,
            soon(store.query(&all, ReadOptions::new())).await,
            soon(store.query_stream(&all, ReadOptions::new())).await,
            soon(store.count(&all)).await,
            soon(store.exists(&Query::builder().tag("a").build().unwrap())).await,
            soon(store.tracked("a")).await,
            soon(store.project(&Projector::counter(all.clone()))).await,
        ];
        for failed in &reads {
            assert!(expected.contains(&cause(failed).kind()), "{failed}");
        }
        return;
    }
    let decided = soon(async { Err::<(), _>(decide(store, LIMIT).await) }).await;
    assert!(expected.contains(&cause(&decided).kind()), "{decided}");
    // The first append loses its connection, so that its outcome is unknown.
    soon(store.append(tagged("a"))).await;
    let mut next = soon(store.append(tagged("a"))).await;
    // It may have waited behind the first one.
    if matches!(next, Error::Fault(Fault::TimedOut { .. })) {
        next = soon(store.append(tagged("a"))).await;
    }
    assert!(expected.contains(&cause(&next).kind()), "{next}");
}

fn cause_kinds() -> [ConnectErrorKind; 2] {
    [ConnectErrorKind::Refused, ConnectErrorKind::NotAnswered]
}

/// Two configurations: reads have little time, or appends have.
fn limits(log: &Config) -> [Config; 2] {
    [(LIMIT, LONG), (LONG, LIMIT)].map(|(read, write)| {
        let mut log = log.clone();
        (log.read_timeout, log.write_timeout) = (read, write);
        log
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_refusing_server_end_within_one_limit_with_the_cause() {
    let server = private_server(Durability::Relaxed, &[]).await;
    let logs = limits(&log_on(server.url()));
    let stores = [connect(&logs[0]).await, connect(&logs[1]).await];
    server.kill_hard().unwrap();
    for (log, store) in logs.iter().zip(&stores) {
        assert_each_call_keeps_its_limit(log, store).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_silent_server_end_within_one_limit_with_the_cause() {
    let log = fresh_log().await;
    for mut log in limits(&log) {
        let proxy = SessionProxy::start(&log.url).await;
        log.url = proxy.url().to_owned();
        let store = connect(&log).await;
        proxy.silence_new(true);
        proxy.silence();
        assert_each_call_keeps_its_limit(&log, &store).await;
    }
}

/// The append of a decision waits for a lock.
#[tokio::test(flavor = "multi_thread")]
async fn append_of_a_decision_keeps_the_limit_of_the_decision() {
    let mut log = fresh_log().await;
    log.write_timeout = 10 * LIMIT;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let _lock = LogLock::take(&log).await;
    let failed = timeout(TIMEOUT, decide(&store, LIMIT)).await.unwrap();
    assert!(
        matches!(
            failed,
            Error::Fault(Fault::TimedOut {
                operation: "decide",
                limit: LIMIT
            })
        ),
        "{failed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_name_is_the_cause() {
    let nowhere = Config::new("postgres://app@no-such-host.invalid/none");
    let failed = soon(PostgresStore::connect(nowhere)).await;
    assert_eq!(cause(&failed).kind(), ConnectErrorKind::Dns, "{failed}");
    assert!(failed.is_transient());
}

/// A server on which the role `guarded` needs the password `right`.
async fn guarded_server() -> LocalPostgres {
    let server = private_server(Durability::Relaxed, &[]).await;
    let mut sql = Sql::connect(server.url()).await;
    for statement in [
        "CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'",
        "COPY (VALUES ('host all guarded all scram-sha-256'), ('host all all all trust'), \
                      ('local all all trust')) TO PROGRAM 'cat > pg_hba.conf'",
        "SELECT pg_reload_conf()",
    ] {
        sql.run(statement).await;
    }
    wait_until("the rules are in force", async || {
        let wrong = PostgresStore::connect(guarded(&server, "wrong")).await;
        wrong.is_err()
    })
    .await;
    server
}

/// A log of the role `guarded`, whose calls have a minute.
fn guarded(server: &LocalPostgres, password: &str) -> Config {
    let (_, rest) = server.url().split_once('@').unwrap();
    let mut log = log_on(&format!("postgres://guarded:{password}@{rest}"));
    (log.read_timeout, log.write_timeout) = (LONG, LONG);
    log
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
    let store = connect(&guarded(&server, "right")).await;
    let wrong = soon(PostgresStore::connect(guarded(&server, "wrong"))).await;
    assert_refused_for_good(&wrong, "28P01");
    let url = server.url();
    let (_, rest) = url.split_once('@').unwrap();
    let role = log_on(&format!("postgres://no_such_role@{rest}"));
    assert_refused_for_good(&soon(PostgresStore::connect(role)).await, "28000");
    let (place, _) = url.rsplit_once('/').unwrap();
    let database = log_on(&format!("{place}/no_such_database"));
    assert_refused_for_good(&soon(PostgresStore::connect(database)).await, "3D000");
    let mut encrypted = log_on(url);
    encrypted.url = format!("{url}?sslmode=require");
    let unencrypted = soon(PostgresStore::connect(encrypted)).await;
    assert!(matches!(&unencrypted, Error::Fault(Fault::Refused(_))) && !unencrypted.is_transient());
    // The password changes while the store is open.
    store.append(tagged("a")).await.unwrap();
    store.head().await.unwrap();
    let mut sql = Sql::connect(url).await;
    sql.run("ALTER ROLE guarded PASSWORD 'other'").await;
    sql.run(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'guarded'",
    )
    .await;
    assert_refused_for_good(&soon(store.head()).await, "28P01");
    // The first append learns that its connection is gone.
    soon(store.append(tagged("a"))).await;
    assert_refused_for_good(&soon(store.append(tagged("a"))).await, "28P01");
    let decided = soon(async { Err::<(), _>(decide(&store, LONG).await) }).await;
    assert_refused_for_good(&decided, "28P01");
    sql.run("ALTER ROLE guarded PASSWORD 'right'").await;
    store.head().await.unwrap();
}

/// With `fail_fast`, only the attempt that finds the outage may take time.
async fn assert_calls_fail_at_once(store: &PostgresStore) {
    const CALLS: u32 = 50;
    soon(store.head()).await;
    // The first append may lose its connection.
    soon(store.append(tagged("a"))).await;
    // The second may wait behind it.
    soon(store.append(tagged("a"))).await;
    let calls = async {
        for _ in 0..CALLS {
            for failed in [
                soon(store.head()).await,
                soon(store.append(tagged("a"))).await,
                decide(store, LONG).await,
            ] {
                assert!(cause_kinds().contains(&cause(&failed).kind()), "{failed}");
            }
        }
    };
    // If each append waited for its own limit, they would take longer.
    timeout(TIMEOUT, calls).await.expect("they end");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_fail_at_once_during_an_outage_if_the_store_shall() {
    // Durable, because the log must outlast the crash.
    let server = private_server(Durability::Durable, &[]).await;
    let mut log = log_on(server.url()).fail_fast();
    (log.read_timeout, log.write_timeout) = (LONG, LIMIT);
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    server.kill_hard().unwrap();
    assert_calls_fail_at_once(&store).await;
    server.restart().await.unwrap();
    wait_until("the store is back", async || store.head().await.is_ok()).await;
    wait_until("appends are back", async || {
        store.append(tagged("a")).await.is_ok()
    })
    .await;

    let proxy = SessionProxy::start(server.url()).await;
    log.url = proxy.url().to_owned();
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    proxy.silence_new(true);
    proxy.silence();
    assert_calls_fail_at_once(&store).await;
    proxy.silence_new(false);
    wait_until("the silent store is back", async || {
        store.head().await.is_ok()
    })
    .await;
}
