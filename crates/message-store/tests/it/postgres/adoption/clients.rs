//! What clients of Message DB see before, during and after an adoption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_suite::effort_up_to;
use message_store::postgres::{Config, PostgresStore};
use message_store::{Error, ExpectedVersion, Fault, GlobalPosition, MessageStore};

use super::{adopt, adopting, message_db, wait_for_waiters};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, message, stream_name, wait_until, whole_category, write};

/// The writes of a client, one after the other, until it is told to stop.
async fn keep_writing(url: String, done: Arc<AtomicBool>) -> i64 {
    let mut sql = Sql::as_message_store(&url).await;
    let mut written = 0;
    while !done.load(Ordering::Relaxed) {
        assert_eq!(sql.write("busy-1").await, written);
        written += 1;
    }
    written
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_clients_go_on() {
    let (database, mut sql) = message_db().await;
    let stored = effort_up_to(20_000, 100_000) as i64;
    sql.run(&format!(
        "INSERT INTO message_store.messages (position, stream_name, type, data, metadata) \
         SELECT n / 100, 'old-' || n % 100, 'Old', jsonb_build_object('n', n), \
                '{{\"correlationStreamName\": \"c-1\"}}' \
           FROM generate_series(0, {stored} - 1) n"
    ))
    .await;
    let storage = "SELECT relfilenode FROM pg_class WHERE oid = 'message_store.messages'::regclass";
    let rows = "SELECT md5(string_agg(ctid::text || xmin || m::text, '' ORDER BY global_position)) \
          FROM message_store.messages m WHERE type = 'Old'";
    let before = [sql.value(storage).await, sql.value(rows).await];
    let done = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(keep_writing(database.url().to_owned(), Arc::clone(&done)));
    wait_until("the client writes", async || {
        sql.number("SELECT count(*) FROM message_store.messages")
            .await
            > stored
    })
    .await;

    let store = adopt(&database).await;
    let after = [sql.value(storage).await, sql.value(rows).await];
    assert_eq!(before, after, "no message is rewritten");
    let beside = stream_name("busy-1");
    let version = async || store.stream_version(&beside).await.unwrap();
    let adopted = version().await;
    wait_until("the client writes on", async || version().await > adopted).await;
    done.store(true, Ordering::Relaxed);
    let written = writing.await.unwrap();
    assert!(written > 1);
    let all = whole_category(&store, "").await;
    assert_eq!(all.len() as i64, stored + written);
    let old = stream_name("old-7");
    let next = store.write_message(
        &old,
        message(1),
        ExpectedVersion::Exact(all[7 + 100 * (stored as usize / 100 - 1)].position()),
    );
    next.await.unwrap();
    store.close().await;
    // Now it is a store like any other.
    let store = connect(Config::new(database.url())).await;
    assert_eq!(whole_category(&store, "old").await.len() as i64, stored + 1);
    store.close().await;
}

/// A session that has prepared its statements goes on, and grants of an administrator stay.
#[tokio::test]
async fn prepared_statements_and_grants_survive() {
    let (database, mut sql) = message_db().await;
    let name = database.name();
    sql.run(&format!(
        "CREATE ROLE reader_{name} LOGIN; GRANT USAGE ON SCHEMA message_store TO reader_{name}; \
         GRANT SELECT ON message_store.type_summary TO reader_{name} WITH GRANT OPTION; \
         GRANT SELECT ON message_store.stream_summary TO PUBLIC; \
         REVOKE EXECUTE ON FUNCTION message_store.stream_version FROM PUBLIC; \
         GRANT EXECUTE ON FUNCTION message_store.stream_version TO reader_{name}"
    ))
    .await;
    let mut client = Sql::as_message_store(database.url()).await;
    client
        .run("PREPARE add AS SELECT write_message(gen_random_uuid()::varchar, $1, 'T', '{}')")
        .await;
    client
        .run("PREPARE page AS SELECT get_stream_messages($1)")
        .await;
    for _ in 0..7 {
        client.run("EXECUTE add('a-1')").await;
        client.run("EXECUTE page('a-1')").await;
    }
    adopt(&database).await.close().await;
    assert_eq!(client.value("EXECUTE add('a-1')").await, "7");
    assert_eq!(client.column("EXECUTE page('a-1')").await.len(), 8);
    let rights = format!(
        "SELECT has_table_privilege('reader_{name}', 'message_store.type_summary', \
                                    'SELECT WITH GRANT OPTION'), \
                has_table_privilege('reader_{name}', 'message_store.stream_summary', 'SELECT'), \
                has_table_privilege('reader_{name}', 'message_store.type_stream_summary', 'SELECT'), \
                has_function_privilege('reader_{name}', 'message_store.stream_version(varchar)', 'EXECUTE')"
    );
    assert_eq!(sql.rows(&rights).await, [["t", "t", "f", "t"]]);
    sql.run(&format!(
        "DROP OWNED BY reader_{name}; DROP ROLE reader_{name}"
    ))
    .await;
}

/// A client that waited for the table during the adoption goes on in Message DB's `write_message`,
/// which announces nothing. Without the trigger, the reader below passes its position.
#[tokio::test(flavor = "multi_thread")]
async fn reader_of_all_messages_waits_for_client_that_waited() {
    let (database, mut sql) = message_db().await;
    let mut reader = Sql::connect(database.url()).await;
    reader
        .run("BEGIN; SELECT count(*) FROM message_store.messages")
        .await;
    let mut config = adopting(&database);
    config.write_timeout = Duration::from_secs(2);
    let adopting = tokio::spawn(connect(config.clone()));
    wait_for_waiters(&mut sql, 1).await;
    let mut client = Sql::as_message_store(database.url()).await;
    client.run("BEGIN").await;
    let writing = tokio::spawn(async move {
        client.write("late-1").await;
        client
    });
    wait_for_waiters(&mut sql, 2).await;
    reader.run("COMMIT").await;
    let mut client = writing.await.unwrap();
    let store = adopting.await.unwrap();
    write(&store, "other-1", 1).await;
    assert_eq!(store.head().await.unwrap(), None);
    assert_eq!(whole_category(&store, "").await.len(), 0);
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname = 'announce_insert'";
    assert_eq!(sql.number(triggers).await, 1, "the client has not ended");
    client.run("COMMIT").await;
    let all = whole_category(&store, "").await;
    let names: Vec<&str> = all.iter().map(|one| one.stream_name()).collect();
    assert_eq!(names, ["late-1", "other-1"]);
    assert_eq!(
        store.head().await.unwrap().map(|head| head.position),
        Some(GlobalPosition::new(2))
    );
    store.close().await;

    // The next connect ends the adoption.
    connect(config).await.close().await;
    assert_eq!(sql.number(triggers).await, 0);
}

/// A client's transaction that uses the table delays the adoption. Others wait behind it, but only up
/// to the time limit, and lose nothing.
#[tokio::test(flavor = "multi_thread")]
async fn adoption_gives_up_behind_a_long_transaction() {
    let (database, _) = message_db().await;
    let mut client = Sql::as_message_store(database.url()).await;
    client.run("BEGIN").await;
    client.write("a-1").await;
    let mut config = adopting(&database);
    config.write_timeout = Duration::from_millis(300);
    let refused = PostgresStore::connect(config).await;
    let Err(failed) = refused else {
        panic!("it did not wait");
    };
    let Error::Fault(Fault::Locked(reason)) = &failed else {
        panic!("{failed:?}");
    };
    let pid = client.value("SELECT pg_backend_pid()").await;
    for part in [
        "\"message_store\".messages".to_owned(),
        format!("session {pid} (user message_store"),
        "idle in transaction".to_owned(),
    ] {
        assert!(reason.message().contains(&part), "{reason}");
    }
    assert!(failed.is_transient());
    assert_eq!(client.write("a-1").await, 1);
    client.run("COMMIT").await;
    let store = adopt(&database).await;
    assert_eq!(whole_category(&store, "a").await.len(), 2);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_processes_adopt_once() {
    let (database, mut sql) = message_db().await;
    sql.run("SET search_path = message_store").await;
    sql.write("a-1").await;
    let connecting: Vec<_> = (0..5)
        .map(|_| tokio::spawn(connect(adopting(&database))))
        .collect();
    for store in connecting {
        let store = store.await.unwrap();
        write(&store, "a-1", 1).await;
        store.close().await;
    }
    // A row for each version of the schema.
    let repeated = "SELECT count(*) - max(version) FROM message_store.migration";
    assert_eq!(sql.number(repeated).await, 0);
    let messages = "SELECT count(*) FROM message_store.messages";
    assert_eq!(sql.number(messages).await, 6);
}
