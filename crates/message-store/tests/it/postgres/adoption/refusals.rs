//! Adoptions that are refused or interrupted, which change nothing.

use message_store::postgres::{Config, PostgresStore, check_schema};
use message_store::{Error, Fault, MessageStore};

use super::{adopt, adopting, message_db, wait_for_waiters};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_database, url_as, whole_category, write};

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
            "type message is missing: create it as Message DB does",
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
        (
            "DROP TYPE message_store.message CASCADE",
            "type message is missing: create it as Message DB does",
        ),
        (
            "ALTER TABLE message_store.messages RENAME TO stored; \
             CREATE VIEW message_store.messages AS SELECT * FROM message_store.stored",
            "relation message_store.messages is not a table: give the table of messages this name",
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

/// All in one list, and none of it is changed.
#[tokio::test]
async fn objects_of_others_are_named_in_one_list() {
    let built = "\
        CREATE SCHEMA reporting; \
        CREATE VIEW reporting.streams AS SELECT stream_name FROM message_store.messages; \
        CREATE MATERIALIZED VIEW reporting.types AS SELECT type FROM message_store.messages; \
        CREATE VIEW reporting.summary AS SELECT * FROM message_store.type_summary; \
        CREATE VIEW reporting.times AS SELECT time FROM message_store.messages; \
        CREATE TABLE reporting.log (name text); \
        CREATE RULE also AS ON INSERT TO message_store.messages \
            DO ALSO INSERT INTO reporting.log VALUES (new.stream_name); \
        CREATE POLICY own ON message_store.messages USING (stream_name = current_user); \
        CREATE FUNCTION reporting.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; \
        CREATE TRIGGER renamed BEFORE UPDATE OF stream_name ON message_store.messages \
            FOR EACH ROW EXECUTE FUNCTION reporting.noted(); \
        CREATE TRIGGER inserted BEFORE INSERT ON message_store.messages \
            FOR EACH ROW EXECUTE FUNCTION reporting.noted(); \
        CREATE FUNCTION message_store.head() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'; \
        CREATE TABLE message_store.checkpoint (consumer text)";
    let list = differences(&format!("{};{built}", super::MESSAGE_DB)).await;
    let again = ": drop it before the adoption, and create it again after it";
    assert_eq!(
        list,
        [
            format!("materialized view reporting.types uses column messages.type{again}"),
            format!(
                "policy own on table message_store.messages uses column messages.stream_name{again}"
            ),
            format!(
                "rule also on table message_store.messages uses column messages.stream_name{again}"
            ),
            format!(
                "trigger renamed on table message_store.messages uses column messages.stream_name{again}"
            ),
            format!("view reporting.streams uses column messages.stream_name{again}"),
            format!("view reporting.summary uses view type_summary{again}"),
            "function message_store.head() is not Message DB's: rename or drop it".to_owned(),
            "relation message_store.checkpoint is not Message DB's: rename or drop it".to_owned(),
        ]
    );
}

/// Objects that do not use the names of streams and types stay.
#[tokio::test]
async fn other_objects_of_others_survive() {
    let (database, mut sql) = message_db().await;
    sql.run(
        "CREATE VIEW public.times AS SELECT time FROM message_store.messages; \
         CREATE TABLE public.log (at timestamp); \
         CREATE FUNCTION public.noted() RETURNS trigger LANGUAGE plpgsql AS \
            'BEGIN INSERT INTO public.log VALUES (new.time); RETURN new; END'; \
         CREATE TRIGGER inserted BEFORE INSERT ON message_store.messages \
            FOR EACH ROW EXECUTE FUNCTION public.noted(); \
         CREATE INDEX own ON message_store.messages (type); \
         CREATE FUNCTION message_store.own() RETURNS int LANGUAGE sql AS 'SELECT 7'; \
         GRANT INSERT ON public.log TO message_store",
    )
    .await;
    adopt(&database).await.close().await;
    let mut client = Sql::as_message_store(database.url()).await;
    client.write("a-1").await;
    assert_eq!(sql.number("SELECT count(*) FROM public.log").await, 1);
    assert_eq!(sql.number("SELECT count(*) FROM public.times").await, 1);
    assert_eq!(sql.number("SELECT message_store.own()").await, 7);
}

#[tokio::test]
async fn check_of_a_message_db_names_it() {
    let (database, _) = message_db().await;
    let checked = check_schema(&Config::new(database.url())).await;
    assert!(
        matches!(&checked, Err(Error::ForeignSchema { .. })),
        "{checked:?}"
    );
}

/// The owner of a Message DB needs no right to create schemas, if there are only messages.
#[tokio::test]
async fn owner_without_create_on_the_database_adopts() {
    let (database, mut sql) = message_db().await;
    let owner = format!("owner_{}", database.name());
    sql.run(&format!(
        "CREATE ROLE {owner} LOGIN; ALTER SCHEMA message_store OWNER TO {owner}; \
         DO $$ DECLARE one record; BEGIN \
            FOR one IN SELECT format('ALTER %s %s OWNER TO {owner}', \
                    CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, \
                    c.oid::regclass) AS sql FROM pg_class c \
                 WHERE c.relnamespace = 'message_store'::regnamespace AND c.relkind IN ('r', 'v', 'c') \
                UNION ALL SELECT format('ALTER FUNCTION %s OWNER TO {owner}', p.oid::regprocedure) \
                  FROM pg_proc p WHERE p.pronamespace = 'message_store'::regnamespace \
            LOOP EXECUTE one.sql; END LOOP; END $$"
    ))
    .await;
    let url = url_as(database.url(), &owner);
    let store = PostgresStore::connect(Config::new(url).adopt_message_db()).await;
    let store = store.unwrap();
    write(&store, "a-1", 1).await;
    store.close().await;
    sql.run(&format!("DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}"))
        .await;
}
