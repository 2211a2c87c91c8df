//! Adoptions that are refused or interrupted, which change nothing.

use message_store::postgres::{Config, PostgresStore};
use message_store::{Error, Fault, MessageStore};

use super::{adopt, adopting, message_db, wait_for_waiters};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_database, url_as, whole_category};

/// A digest of all objects of the schema.
async fn objects(sql: &mut Sql) -> String {
    sql.value(
        "SELECT md5(string_agg(one, ' ' ORDER BY one)) FROM ( \
            SELECT concat(p.oid, p.prosrc) FROM pg_proc p \
             WHERE pronamespace = 'message_store'::regnamespace \
            UNION ALL SELECT concat(c.oid, c.relname, c.relfilenode) FROM pg_class c \
             WHERE relnamespace = 'message_store'::regnamespace) objects(one)",
    )
    .await
}

#[tokio::test]
async fn message_db_without_the_setting_is_refused() {
    let (database, mut sql) = message_db().await;
    let before = objects(&mut sql).await;
    let refused = PostgresStore::connect(Config::new(database.url())).await;
    let Err(failed) = refused else {
        panic!("it was changed");
    };
    assert!(
        matches!(&failed, Error::ForeignSchema { schema } if schema == "message_store"),
        "{failed:?}"
    );
    assert!(failed.to_string().contains("Config::adopt_message_db"));
    assert!(!failed.is_transient());
    assert_eq!(objects(&mut sql).await, before);
    // Another schema of the database is free.
    let store = PostgresStore::connect(Config::new(database.url()).schema("free")).await;
    store.unwrap().close().await;
}

/// The differences that a refused adoption of a database names.
async fn differences(sql: &str) -> Vec<String> {
    let database = fresh_database().await;
    let mut session = Sql::connect(database.url()).await;
    session.run(sql).await;
    let before = objects(&mut session).await;
    let refused = PostgresStore::connect(adopting(&database)).await;
    assert_eq!(objects(&mut session).await, before);
    match refused {
        Err(Error::Fault(Fault::SchemaChanged { differences, .. })) => differences,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tables_of_another_program_are_refused() {
    let other = "CREATE SCHEMA message_store; \
         CREATE TABLE message_store.messages (id uuid, position bigint, data text)";
    assert_eq!(
        differences(other).await,
        [
            "column messages.data is not Message DB's jsonb",
            "column messages.global_position is not Message DB's bigint",
            "column messages.metadata is not Message DB's jsonb",
            "column messages.stream_name is not Message DB's text",
            "column messages.time is not Message DB's timestamp without time zone",
            "column messages.type is not Message DB's text",
        ]
    );
}

#[tokio::test]
async fn objects_that_differ_are_refused() {
    for (change, expected) in [
        (
            "CREATE FUNCTION message_store.get_last_stream_message(stream_name varchar) \
             RETURNS SETOF message_store.message LANGUAGE sql AS 'SELECT NULL::message_store.message'",
            "function get_last_stream_message has other parameters than in Message DB 1.3.0: \
             update it first",
        ),
        (
            "ALTER TABLE message_store.messages ALTER COLUMN position DROP NOT NULL",
            "column messages.position differs from what was installed",
        ),
        (
            "ALTER TYPE message_store.message DROP ATTRIBUTE time",
            "column message.time is missing",
        ),
    ] {
        let made = format!("{};{change}", super::MESSAGE_DB);
        assert_eq!(differences(&made).await, [expected], "{change}");
    }
}

#[tokio::test]
async fn login_that_does_not_own_message_db_is_refused() {
    let (database, mut sql) = message_db().await;
    let before = objects(&mut sql).await;
    let url = url_as(database.url(), "message_store");
    let refused = PostgresStore::connect(Config::new(url).adopt_message_db()).await;
    let Err(Error::Fault(Fault::Refused(reason))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reason.code(), Some("42501"));
    let message = reason.message();
    assert!(
        message.ends_with("owns the objects of Message DB"),
        "{message}"
    );
    assert_eq!(objects(&mut sql).await, before);
}

/// A missing index is built.
#[tokio::test]
async fn missing_index_is_built() {
    let (database, mut sql) = message_db().await;
    sql.run("DROP INDEX message_store.messages_id, message_store.messages_category")
        .await;
    adopt(&database).await.close().await;
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'messages'";
    assert_eq!(sql.number(indexes).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_adoption_changes_nothing() {
    let (database, mut sql) = message_db().await;
    let before = objects(&mut sql).await;
    let mut client = Sql::as_message_store(database.url()).await;
    client.run("BEGIN").await;
    client.write("a-1").await;
    let connecting = tokio::spawn(PostgresStore::connect(adopting(&database)));
    wait_for_waiters(&mut sql, 1).await;
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
          WHERE datname = current_database() AND application_name = 'message-store'",
    )
    .await;
    let ended = connecting.await.unwrap();
    assert!(
        matches!(ended, Err(Error::Fault(Fault::Unreachable(_)))),
        "{ended:?}"
    );
    assert_eq!(objects(&mut sql).await, before);
    assert_eq!(client.write("a-1").await, 1);
    client.run("COMMIT").await;
    let store = adopt(&database).await;
    assert_eq!(whole_category(&store, "a").await.len(), 2);
    store.close().await;
}
