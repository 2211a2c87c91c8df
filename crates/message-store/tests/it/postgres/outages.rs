//! What calls tell and how long they take while the server can't be reached.

use std::time::Duration;

use local_postgres::{Durability, Options, SessionProxy};
use message_store::postgres::{Config, ConnectError, ConnectErrorKind};
use message_store::{Error, MessageStore as _};
use tokio::time::{sleep, timeout};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, fresh_database, separate_server, stream_name, whole_stream, write,
};

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The cause that an error carries.
fn cause(failed: &Error) -> &ConnectError {
    let Error::Unavailable { source } = failed else {
        panic!("{failed:?}");
    };
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
        assert!(matches!(failed, Error::Timeout { .. }), "{failed}");
    }
    locker.run("COMMIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_connection_is_the_cause() {
    let options = Options {
        durability: Durability::Relaxed,
        ..Options::default()
    };
    let server = separate_server(options).await;
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
