//! Connections that carry nothing any more, without a message that they are gone.

use std::time::Duration;

use local_postgres::SessionProxy;
use postgres_store::{
    Failure, Heard, Limits, ListeningSession, Pool, Server, Watch, WriterConnection, connect,
    failure, fault,
};
use tokio::time::{sleep, timeout};

use super::{TEST_TIMEOUT, borrow, database, hosts_of, next_process, options, pool, setting};

/// Longer than any step takes. Only a failing test waits this long.
const NOTICED: Duration = Duration::from_secs(60);

async fn proxied_pool(proxy: &SessionProxy) -> Pool {
    let pool = Pool::new(options(proxy.url()), Limits::new(4, TEST_TIMEOUT));
    let mut leases = Vec::new();
    for _ in 0..3 {
        leases.push(borrow(&pool).await);
    }
    leases
        .into_iter()
        .for_each(postgres_store::Lease::give_back);
    pool
}

#[tokio::test]
async fn silent_idle_connections_are_given_up_without_a_borrower() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let pool = proxied_pool(&proxy).await;
    assert_eq!(pool.size(), 3);
    proxy.silence();
    let given_up = async {
        while pool.size() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(NOTICED, given_up).await.expect("they are given up");
    next_process(&pool).await;
}

#[tokio::test]
async fn statement_on_silent_connection_ends_in_seconds() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let pool = proxied_pool(&proxy).await;
    let mut connection = borrow(&pool).await;
    let process = Some(connection.process());
    proxy.silence();
    let asked = sqlx::query("SELECT 1").execute(&mut *connection);
    let asked = timeout(NOTICED, pool.in_time(TEST_TIMEOUT, process, asked)).await;
    let lost = asked.expect("it ends").expect_err("no answer");
    assert_eq!(failure(&lost), Failure::Lost);
}

#[tokio::test]
async fn slow_statement_goes_on() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let process = Some(connection.process());
    let slow = sqlx::query("SELECT pg_sleep(7)").execute(&mut *connection);
    let slow = pool.in_time(TEST_TIMEOUT, process, slow).await;
    slow.expect("an answer");
}

#[tokio::test]
async fn silent_connection_costs_a_borrower_seconds_not_its_wait() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let pool = proxied_pool(&proxy).await;
    proxy.silence();
    pool.suspect();
    timeout(NOTICED, next_process(&pool))
        .await
        .expect("a new connection");
}

#[tokio::test]
async fn silent_server_is_given_up_in_seconds() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    proxy.silence_new(true);
    let silent = timeout(NOTICED, connect(&hosts_of(proxy.url()))).await;
    let silent = silent.expect("it ends").expect_err("no answer");
    assert_eq!(failure(&silent), Failure::NotSent);
}

#[tokio::test]
async fn borrower_tries_again_as_long_as_it_waits() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    proxy.silence_new(true);
    let pool = Pool::new(options(proxy.url()), Limits::new(1, TEST_TIMEOUT));
    let borrower = tokio::spawn(async move { borrow(&pool).await });
    sleep(Duration::from_millis(100)).await;
    proxy.silence_new(false);
    borrower.await.expect("a connection");
}

#[tokio::test]
async fn listener_notices_that_it_is_deaf() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let listening = ListeningSession::open(&hosts_of(proxy.url()), &["news".into()], None).await;
    let mut listening = listening.expect("a session");
    let quiet = listening.next().await.expect("a sign of life");
    assert!(matches!(quiet, Heard::SignOfLife { .. }), "{quiet:?}");
    let mut other = connect(&hosts_of(database.url())).await.expect("a session");
    let notified = sqlx::query("NOTIFY news").execute(&mut other).await;
    notified.expect("a notification");
    let heard = listening.next().await.expect("a notification");
    let channel = "news".into();
    assert_eq!(heard, Heard::Notification { channel });
    proxy.silence();
    let deaf = async { while listening.next().await.is_ok() {} };
    timeout(NOTICED, deaf).await.expect("it notices");
}

#[tokio::test]
async fn silent_writer_connection_is_replaced() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let server = Server::new(proxy.url(), "test", false).expect("a URL");
    let mut writer = WriterConnection::new(server.writer(TEST_TIMEOUT));
    writer.connect().await.expect("the server answers");
    writer.keep_alive().await;
    proxy.silence();
    timeout(NOTICED, writer.keep_alive())
        .await
        .expect("it ends");
    writer.connect().await.expect("the server answers");
    let inserted = writer.insert(sqlx::query("CREATE TABLE t (n int)")).await;
    inserted.expect("a statement");
}

/// The other direction: the server looks after its end.
#[tokio::test]
async fn session_asks_the_server_to_notice_a_dead_client() {
    let database = database().await;
    let server = Server::new(database.url(), "test", false).expect("a URL");
    let mut writer = WriterConnection::new(server.writer(TEST_TIMEOUT));
    for (name, value) in [("tcp_keepalives_idle", "5"), ("tcp_user_timeout", "10000")] {
        assert_eq!(setting(&mut writer, name).await, value);
    }
}

/// The result of work on a connection that is watched, and falls silent as it begins.
async fn watched(
    server: &str,
    falls_silent: impl FnOnce(),
    sql: &'static str,
) -> Result<(), message_store::Error> {
    let server = Server::new(server, "watched", false).unwrap();
    let (mut connection, watch) = Watch::open(&server).await.unwrap();
    falls_silent();
    let work = async {
        let done = sqlx::raw_sql(sql).execute(&mut connection).await;
        done.map_err(|failed| fault(&failed).into()).map(drop)
    };
    timeout(NOTICED, watch.over(work)).await.expect("it ends")
}

#[tokio::test]
async fn work_without_a_limit_ends_on_a_silent_connection() {
    let database = database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let lost = watched(proxy.url(), || proxy.silence(), "SELECT 1").await;
    let lost = lost.expect_err("no answer");
    assert!(lost.is_transient(), "{lost}");
    // Without an answer of the server too.
    let silent = || {
        proxy.silence_new(true);
        proxy.silence();
    };
    let lost = watched(proxy.url(), silent, "SELECT 1").await;
    assert!(lost.is_err());
}

/// Longer than a connection may be silent.
#[tokio::test]
async fn long_work_goes_on() {
    let database = database().await;
    let sleeps = "SELECT pg_sleep(15)";
    watched(database.url(), || (), sleeps)
        .await
        .expect("an answer");
}
