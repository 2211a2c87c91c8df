//! Installing and verifying the schema, and the configuration.

use std::time::Duration;

use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{Error, ExpectedVersion, Fault, MessageStore};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    TO_VERSION_2, connect, fresh_database, fresh_store, message, stream_name, url_as, write,
};

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_processes_install_schema_once() {
    let database = fresh_database().await;
    let connecting: Vec<_> = (0..6)
        .map(|_| tokio::spawn(PostgresStore::connect(Config::new(database.url()))))
        .collect();
    for (number, store) in connecting.into_iter().enumerate() {
        let store = store.await.unwrap().unwrap();
        write(&store, "a-1", number as u64).await;
        store.close().await;
    }
    let mut sql = Sql::connect(database.url()).await;
    assert_eq!(
        sql.number("SELECT count(*) FROM message_store.migration")
            .await,
        3
    );
    assert_eq!(
        sql.number("SELECT count(*) FROM message_store.messages")
            .await,
        6
    );
}

#[tokio::test]
async fn schema_differences_are_named() {
    for (change, difference) in [
        (
            "DROP INDEX message_store.messages_category",
            "index messages_category is missing",
        ),
        // A CREATE INDEX CONCURRENTLY or a REINDEX that failed leaves such an index. No query uses it.
        (
            "UPDATE pg_index SET indisvalid = false \
              WHERE indexrelid = 'message_store.messages_category'::regclass",
            "index messages_category differs from what was installed",
        ),
        (
            "DROP VIEW message_store.type_summary",
            "view type_summary is missing",
        ),
        (
            "ALTER TABLE message_store.messages ALTER COLUMN type DROP NOT NULL",
            "column messages.type differs from what was installed",
        ),
        (
            "CREATE OR REPLACE FUNCTION message_store.announce() RETURNS void \
             LANGUAGE plpgsql AS 'BEGIN END'",
            "function announce differs from what was installed",
        ),
    ] {
        let (database, store) = fresh_store().await;
        store.close().await;
        Sql::connect(database.url()).await.run(change).await;
        match PostgresStore::connect(Config::new(database.url())).await {
            Err(Error::Fault(Fault::SchemaChanged { differences, .. })) => {
                assert_eq!(differences, [difference]);
            }
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn search_path_does_not_affect_store() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let name = database.name();
    let sql = format!("ALTER DATABASE {name} SET search_path TO message_store, public");
    Sql::connect(database.url()).await.run(&sql).await;
    connect(Config::new(database.url())).await.close().await;
}

/// The state after a move to another server version, which prints the views in another form.
#[tokio::test]
async fn unchanged_schema_with_another_digest_is_adopted() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("UPDATE message_store.migration SET checksum = 'other'")
        .await;
    connect(Config::new(database.url())).await.close().await;
    // The newest version's row has the digest.
    let newest = "SELECT checksum FROM message_store.migration ORDER BY version DESC LIMIT 1";
    assert_ne!(sql.value(newest).await, "other");
}

#[tokio::test]
async fn quoted_identifiers_do_not_affect_store() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let name = database.name();
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&format!(
        "ALTER DATABASE {name} SET quote_all_identifiers TO on"
    ))
    .await;
    connect(Config::new(database.url())).await.close().await;
    sql.run("UPDATE message_store.migration SET checksum = 'other'")
        .await;
    connect(Config::new(database.url())).await.close().await;
}

#[tokio::test]
async fn newer_schema_is_refused() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run("INSERT INTO message_store.migration (version, checksum) VALUES (7, '')")
        .await;
    let refused = PostgresStore::connect(Config::new(database.url())).await;
    assert!(
        matches!(
            refused,
            Err(Error::Fault(Fault::SchemaTooNew {
                found: 7,
                supported: 3,
                ..
            }))
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn database_with_another_encoding_is_refused() {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = format!("{}_{}", database.name(), encoding.to_lowercase());
        sql.run(&format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' \
             LC_COLLATE 'C' LC_CTYPE 'C'"
        ))
        .await;
        let config = Config::new(database.url().replace(database.name(), &name));
        let of_store = PostgresStore::connect(config.clone()).await.map(drop);
        let of_namespaces = PostgresNamespaces::connect(config).await.map(drop);
        for refused in [of_store, of_namespaces] {
            let Err(failed @ Error::Fault(Fault::Refused(_))) = refused else {
                panic!("{encoding}: {refused:?}");
            };
            assert!(!failed.is_transient());
            let shown = failed.to_string();
            assert!(
                shown.contains(encoding) && shown.contains("UTF8"),
                "{shown}"
            );
        }
        sql.run(&format!("DROP DATABASE {name}")).await;
    }
}

#[tokio::test]
async fn schema_of_version_1_is_upgraded() {
    let (database, store) = fresh_store().await;
    write(&store, "a-1", 1).await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    let first = include_str!("../../../schema/postgres/versions/1/is_category.sql");
    sql.run(TO_VERSION_2).await;
    sql.run("DELETE FROM message_store.migration WHERE version > 1")
        .await;
    sql.run("DROP FUNCTION message_store.is_category").await;
    sql.run(first).await;
    let answer = "SELECT message_store.is_category(NULL)";
    assert_eq!(sql.value(answer).await, "NULL");
    let store = connect(Config::new(database.url())).await;
    assert_eq!(sql.value(answer).await, "t");
    write(&store, "a-1", 2).await;
    assert_eq!(sql.write("a-1").await, 2);
    store.close().await;
    // The rights of Message DB's clients include the replaced function.
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.value("SELECT is_category('a')").await, "t");
}

/// An owner who may not create roles installs everything else.
#[tokio::test]
async fn owner_without_createrole_installs_schema() {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    let name = database.name();
    let owner = format!("owner_{name}");
    sql.run(&format!(
        "CREATE ROLE {owner} LOGIN; GRANT CREATE ON DATABASE {name} TO {owner}"
    ))
    .await;
    let store = connect(Config::new(url_as(database.url(), &owner))).await;
    write(&store, "a-1", 1).await;
    assert!(store.head().await.unwrap().is_some());
    store.close().await;
}

#[tokio::test]
async fn invalid_configuration_names_its_field() {
    let database = fresh_database().await;
    let url = database.url();
    let configs = [
        ("url", Config::new("mysql://localhost/x")),
        ("url", Config::new("")),
        ("replica_url", Config::new(url).replica_url("localhost")),
        ("schema", Config::new(url).schema("a\"b")),
        ("schema", Config::new(url).schema("pg_x")),
        ("schema", Config::new(url).schema("1")),
        ("schema", Config::new(url).schema("")),
        ("schema", Config::new(url).schema("s".repeat(64))),
    ];
    for (expected, config) in configs {
        match PostgresStore::connect(config.clone()).await {
            Err(Error::Invalid { field, .. }) => assert_eq!(field, expected),
            other => panic!("{config:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn write_without_lock_times_out_and_writes_nothing() {
    let database = fresh_database().await;
    let mut config = Config::new(database.url());
    config.write_timeout = Duration::from_millis(400);
    let store = connect(config).await;
    let mut open = Sql::connect(database.url()).await;
    open.run("BEGIN").await;
    open.write("a-1").await;
    let refused = store
        .write_message(&stream_name("a-1"), message(1), ExpectedVersion::Any)
        .await;
    assert!(
        matches!(
            refused,
            Err(Error::Fault(Fault::TimedOut {
                operation: "write",
                ..
            }))
        ),
        "{refused:?}"
    );
    open.run("ROLLBACK").await;
    assert_eq!(
        store.stream_version(&stream_name("a-1")).await.unwrap(),
        None
    );
    write(&store, "a-1", 1).await;
    store.close().await;
}

#[tokio::test]
async fn health_reports_durability_settings() {
    let (_database, store) = fresh_store().await;
    let health = store.health().await.unwrap();
    assert_eq!(health.backend, "PostgreSQL");
    // The server of the tests does not sync to disk.
    assert!(!health.is_durable);
    assert_eq!(health.durability[0], ("fsync", "off".to_owned()));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_takes_at_most_configured_writes() {
    let database = fresh_database().await;
    let mut config = Config::new(database.url());
    config.max_batch_requests = 3;
    let store = connect(config).await;
    let writing: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { write(&store, &format!("a-{number}"), 1).await })
        })
        .collect();
    for write in writing {
        write.await.unwrap();
    }
    let stats = store.stats();
    assert!(stats.commits >= 7 && stats.largest_batch <= 3, "{stats:?}");
    store.close().await;
}

#[tokio::test]
async fn commit_notifies_other_processes() {
    let (database, store) = fresh_store().await;
    let mut quiet = Config::new(database.url());
    quiet.notify = false;
    let quiet = connect(quiet).await;
    let reader = connect(Config::new(database.url())).await;
    let mut hints = reader.notifications();
    // The first notification comes when the connection begins to listen.
    hints.changed().await;
    write(&store, "a-1", 1).await;
    hints.changed().await;
    write(&quiet, "a-1", 1).await;
    let silence = tokio::time::timeout(Duration::from_millis(300), hints.changed()).await;
    assert!(silence.is_err(), "a store that does not notify did");
    for store in [store, quiet, reader] {
        store.close().await;
    }
}
