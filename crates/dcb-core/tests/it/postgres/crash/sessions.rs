//! Errors that belong to a session, where a log has more than a write and a read: a transaction of the
//! caller, streams, a column with another type.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Append, Error, EventStore as _, Fault, Query, ReadOptions};
use local_postgres::{Database, SessionProxy};
use sqlx::{Connection as _, PgConnection};

use crate::support::events::{head, tag, tagged, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, server};

/// More appends than a writer needs before it appends by an INSERT alone.
const UNCONTENDED_APPENDS: u64 = 20;

async fn database() -> Database {
    let database = server().await.create_database("sessions").await;
    database.expect("a database")
}

fn assert_read_only<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(refused @ Error::Fault(Fault::ReadOnly(_))) = answer else {
        panic!("answered {answer:?}");
    };
    assert!(refused.is_transient());
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

/// Appends by each statement, and returns the number of events.
async fn fill(store: &PostgresStore) -> u64 {
    for _ in 0..UNCONTENDED_APPENDS {
        store.append(tagged("a")).await.expect("an append");
    }
    UNCONTENDED_APPENDS
}

#[tokio::test(flavor = "multi_thread")]
async fn own_transaction_on_read_only_server_is_refused() {
    let database = database().await;
    let store = connect(&log_on(database.url())).await;
    let mut session = PgConnection::connect(database.url()).await.unwrap();
    let mut transaction = session.begin_with("BEGIN READ ONLY").await.unwrap();
    let append = Append::new(tagged("a"));
    assert_read_only(store.submit_in(&mut transaction, append).await);
    drop(transaction);
    store.close().await;
}

/// Ways to spoil a session that has prepared statements.
const SPOILS: [&str; 3] = [
    "DEALLOCATE ALL",
    "BEGIN; SELECT 1 / 0",
    "SET default_transaction_read_only = on",
];

/// Several reads of different kinds at the same time.
async fn read(store: &PostgresStore) -> Vec<u64> {
    let reads = (0..6).map(|number| async move {
        match number % 3 {
            0 => whole_log(store).await.len() as u64,
            1 => store.count(&Query::all()).await.expect("a count"),
            _ => head(store).await,
        }
    });
    futures_util::future::join_all(reads).await
}

/// A stream that starts in a spoiled session goes on in another.
#[tokio::test(flavor = "multi_thread")]
async fn stream_in_spoiled_session_yields_all_events() {
    for spoil in SPOILS {
        let database = database().await;
        let proxy = SessionProxy::start(database.url()).await;
        let store = connect(&log_on(proxy.url())).await;
        let stored = fill(&store).await;
        read(&store).await;
        proxy.run(spoil).await;
        let all = ReadOptions::new();
        let mut stream = store.query_stream(&tag("a"), all).await.expect(spoil);
        let mut seen = 0;
        while let Some(event) = stream.next().await {
            event.unwrap_or_else(|error| panic!("{spoil}: {error:?}"));
            seen += 1;
        }
        assert_eq!(seen, stored, "{spoil}");
        store.close().await;
    }
}

/// A column gets another type, as an operator might change it, or a failover to a changed copy.
#[tokio::test(flavor = "multi_thread")]
async fn reads_succeed_after_result_type_changes() {
    let database = database().await;
    let log = log_on(database.url());
    let store = connect(&log).await;
    let mut stored = fill(&store).await;
    let mut sql = Sql::connect(database.url()).await;
    for new_type in ["varchar", "text"] {
        read(&store).await;
        sql.run(&format!(
            "ALTER TABLE \"{}\".event ALTER COLUMN type TYPE {new_type}",
            log.schema
        ))
        .await;
        assert_eq!(read(&store).await, [stored; 6], "{new_type}");
        store.append(tagged("a")).await.expect("an append");
        stored += 1;
    }
    store.close().await;
    sql.close().await;
}
