//! Closing a store whose caller goes away. The store would be closed half-way, with its sessions.

use std::future::ready;

use local_postgres::Database;
use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{MessageStore as _, NamespaceName, Namespaces as _};
use tokio::task::JoinHandle;

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_database, fresh_store, wait_until, write};

/// Starts a write that waits for the lock of its category.
async fn start_write(store: &PostgresStore, other: &mut Sql) -> JoinHandle<()> {
    let store = store.clone();
    let writing = tokio::spawn(async move {
        write(&store, "held-2", 1).await;
    });
    wait_until("the write waits for the lock", async || {
        // Not `pg_stat_activity`, of which a transaction sees the sessions of its first look.
        let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
             WHERE NOT l.granted AND l.locktype = 'advisory' AND d.datname = current_database()";
        other.number(waiting).await > 0
    })
    .await;
    writing
}

async fn assert_sessions_end(database: &Database) {
    let mut sql = Sql::connect(database.url()).await;
    wait_until("the sessions have ended", async || {
        sql.number(
            "SELECT count(*) FROM pg_stat_activity \
              WHERE datname = current_database() AND application_name = 'message-store'",
        )
        .await
            == 0
    })
    .await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn store_closes_without_its_caller() {
    let (database, store) = fresh_store().await;
    let mut other = Sql::connect(database.url()).await;
    other.run("BEGIN").await;
    other.write("held-1").await;
    let writing = start_write(&store, &mut other).await;
    tokio::select! {
        biased;
        () = store.close() => panic!("closed before its write finished"),
        () = ready(()) => {}
    }
    other.run("COMMIT").await;
    writing.await.unwrap();
    assert_sessions_end(&database).await;
    drop(store);
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_close_without_their_caller() {
    let database = fresh_database().await;
    let name = NamespaceName::new("tenant").unwrap();
    let config = Config::new(database.url()).interface_namespace(name.clone());
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces.create(&name, None).await.unwrap();
    let store = namespaces.open(&name).await.unwrap();
    let mut other = Sql::connect(database.url()).await;
    other.run("BEGIN").await;
    other.write("held-1").await;
    let writing = start_write(&store, &mut other).await;
    tokio::select! {
        biased;
        () = namespaces.close() => panic!("closed before its write finished"),
        () = ready(()) => {}
    }
    other.run("COMMIT").await;
    writing.await.unwrap();
    assert_sessions_end(&database).await;
    drop((store, namespaces));
}
