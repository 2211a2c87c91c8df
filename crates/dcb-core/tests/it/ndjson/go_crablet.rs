//! Import of the tables of the Go library go-crablet.

use dcb_core::postgres::{GoImported, GoLog};
use dcb_core::{Error, EventStore, Fault, MemoryStore};
use local_postgres::Database;
use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Executor as _};

use crate::support::events::whole_log;
use crate::support::postgres::{fresh_store, server};

/// A database with the library's table. `time` is one of the two names its time column can have.
async fn go_tables(time: &str) -> (Database, PgConnection) {
    let database = server().await.create_database("go").await.unwrap();
    let mut connection = PgConnection::connect(database.url()).await.unwrap();
    let table = format!(
        "CREATE TABLE events (
            type varchar(64) NOT NULL CHECK (length(type) <= 64), tags text[] NOT NULL,
            data json NOT NULL, transaction_id xid8 NOT NULL,
            position bigserial NOT NULL PRIMARY KEY,
            {time} timestamptz NOT NULL DEFAULT current_timestamp)"
    );
    connection
        .execute(sqlx::AssertSqlSafe(table))
        .await
        .unwrap();
    (database, connection)
}

async fn insert(connection: &mut PgConnection, rows: &str) {
    let insert = format!("INSERT INTO events (type, tags, data, transaction_id) {rows}");
    connection
        .execute(sqlx::AssertSqlSafe(insert))
        .await
        .unwrap();
}

const NUMBERED: &str = "SELECT 'Numbered', ARRAY['number:' || n], '{}', pg_current_xact_id() FROM";

#[tokio::test(flavor = "multi_thread")]
async fn imported_events_keep_their_content() {
    let (database, mut connection) = go_tables("occurred_at").await;
    let rows = r#"VALUES
        ('CourseOffered', ARRAY['course_id:c1', 'category:a"b\c'], '{"b": 1, "a": 2, "a": 3}', pg_current_xact_id()),
        ('Bare', '{}', '[123456789012345678901234567890]', pg_current_xact_id())"#;
    insert(&mut connection, rows).await;
    connection
        .execute("UPDATE events SET occurred_at = '2025-09-16 20:57:36.123456+02'")
        .await
        .unwrap();
    let store = fresh_store().await;
    let done = GoLog::new(database.url()).import(&store, |_| ()).await;
    let both = GoImported {
        events: 2,
        total: 2,
    };
    assert_eq!(done.unwrap(), both);

    let log = whole_log(&store).await;
    assert_eq!(log[0].event_type(), "CourseOffered");
    let tags: Vec<&str> = log[0].tags().collect();
    assert_eq!(tags, ["category:a\"b\\c", "course_id:c1"]);
    assert_eq!(log[0].data(), br#"{"b": 1, "a": 2, "a": 3}"#);
    assert_eq!(log[1].data(), b"[123456789012345678901234567890]");
    let time = log[0].metadata_value(GoLog::OCCURRED_AT);
    assert_eq!(time, Some("2025-09-16T18:57:36.123456Z"));
}

/// Names of types on the JVM and .NET include those of their packages.
#[tokio::test(flavor = "multi_thread")]
async fn types_of_255_bytes_are_imported() {
    let (database, mut connection) = go_tables("occurred_at").await;
    connection
        .execute(
            "ALTER TABLE events DROP CONSTRAINT events_type_check,
                                ALTER COLUMN type TYPE varchar(255)",
        )
        .await
        .unwrap();
    let longest = "com.example.courses.".repeat(13)[..255].to_owned();
    let rows = format!("VALUES ('{longest}', '{{}}', '{{}}', pg_current_xact_id())");
    insert(&mut connection, &rows).await;
    let store = fresh_store().await;
    let done = GoLog::new(database.url()).import(&store, |_| ()).await;
    assert_eq!(done.unwrap().events, 1);
    assert_eq!(whole_log(&store).await[0].event_type(), longest);
}

#[tokio::test(flavor = "multi_thread")]
async fn import_resumes_where_the_last_one_ended() {
    let (database, mut connection) = go_tables("created_at").await;
    insert(
        &mut connection,
        &format!("{NUMBERED} generate_series(1, 25) n"),
    )
    .await;
    // A rolled-back append leaves a gap in the positions.
    connection
        .execute("SELECT nextval('events_position_seq')")
        .await
        .unwrap();
    insert(
        &mut connection,
        &format!("{NUMBERED} generate_series(26, 30) n"),
    )
    .await;

    let store = MemoryStore::new();
    let mut log = GoLog::new(database.url());
    log.batch_events = 10;
    let mut reports = Vec::new();
    let report = |so_far: GoImported| reports.push((so_far.events, so_far.total));
    log.import(&store, report).await.unwrap();
    assert_eq!(reports, [(10, 30), (20, 30), (30, 30)]);

    insert(
        &mut connection,
        &format!("{NUMBERED} generate_series(31, 33) n"),
    )
    .await;
    let again = log.import(&store, |_| ()).await.unwrap();
    assert_eq!((again.events, again.total), (3, 3));
    let none = log.import(&store, |_| ()).await.unwrap();
    assert_eq!((none.events, none.total), (0, 0));
    let numbers: Vec<String> = whole_log(&store)
        .await
        .iter()
        .map(|event| event.tag_value("number").unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (1..=33).map(|number| number.to_string()).collect();
    assert_eq!(numbers, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn import_waits_for_an_open_transaction() {
    let (database, mut connection) = go_tables("occurred_at").await;
    let mut open = connection.begin().await.unwrap();
    insert(&mut open, &format!("{NUMBERED} generate_series(1, 1) n")).await;
    let mut other = PgConnection::connect(database.url()).await.unwrap();
    insert(&mut other, &format!("{NUMBERED} generate_series(2, 2) n")).await;

    let store = fresh_store().await;
    let import = {
        let (store, log) = (store.clone(), GoLog::new(database.url()));
        tokio::spawn(async move { log.import(&store, |_| ()).await })
    };
    let waiting = "SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND NOT granted
        AND relation = 'events'::regclass";
    while sqlx::query_scalar::<_, i64>(waiting)
        .fetch_one(&mut other)
        .await
        .unwrap()
        == 0
    {
        assert!(!import.is_finished(), "the import must wait");
        tokio::task::yield_now().await;
    }
    open.commit().await.unwrap();
    assert_eq!(import.await.unwrap().unwrap().events, 2);
    assert_eq!(whole_log(&store).await[0].tag_value("number"), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_the_table_is_refused() {
    let database = server().await.create_database("go").await.unwrap();
    let log = GoLog::new(database.url());
    let refused = log.import(&MemoryStore::new(), |_| ()).await;
    let Err(Error::Fault(Fault::SchemaChanged { differences, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(differences.len(), 6, "{differences:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_event_is_named_by_its_position() {
    let (database, mut connection) = go_tables("occurred_at").await;
    insert(
        &mut connection,
        &format!("{NUMBERED} generate_series(1, 1) n"),
    )
    .await;
    let rows = "SELECT 'T', ARRAY[''], '{}', pg_current_xact_id()";
    insert(&mut connection, rows).await;
    let store = MemoryStore::new();
    let failed = GoLog::new(database.url()).import(&store, |_| ()).await;
    assert!(
        matches!(&failed, Err(Error::Import { entry, .. }) if entry == "position 2"),
        "{failed:?}"
    );
    assert_eq!(store.head().await.unwrap(), None);
}
