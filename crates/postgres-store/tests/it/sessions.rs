//! Sessions in which statements fail although the server and the statements are right.

use std::time::Duration;

use local_postgres::Database;
use postgres_store::{Failure, Server, WriterConnection, failure};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _};

use super::{borrow, database, next_process, pool, process, setting};

const LIMIT: Duration = Duration::from_secs(20);

/// Statements that spoil a session which has prepared two statements, and the failure of the next.
const SPOILS: [(&str, Failure); 4] = [
    ("DEALLOCATE ALL", Failure::Session),
    ("PREPARE sqlx_s_3 AS SELECT 1", Failure::Session),
    ("BEGIN; SELECT 1 / 0", Failure::Session),
    ("SET default_transaction_read_only = on", Failure::ReadOnly),
];

async fn connected(database: &Database) -> WriterConnection {
    let server = Server::new(database.url(), "test", false).expect("a URL");
    let mut writer = WriterConnection::new(server.writer(LIMIT));
    writer.connect().await.expect("the server answers");
    writer
}

async fn run(writer: &mut WriterConnection, sql: &str) -> Result<(), sqlx::Error> {
    writer
        .run(AssertSqlSafe(sql.to_owned()).into_sql_str())
        .await
}

/// Inserts by a statement that the session has prepared, and by one that it has not.
async fn insert_twice(writer: &mut WriterConnection) -> Result<u64, sqlx::Error> {
    let prepared = writer
        .insert(sqlx::query("INSERT INTO t VALUES (1)"))
        .await?;
    Ok(prepared
        + writer
            .insert(sqlx::query("INSERT INTO t VALUES (2)"))
            .await?)
}

#[tokio::test]
async fn spoiled_writer_session_costs_one_statement() {
    for (spoil, expected) in SPOILS {
        let database = database().await;
        let mut writer = connected(&database).await;
        run(&mut writer, "CREATE TABLE t (n int)")
            .await
            .expect("a table");
        let first = writer.insert(sqlx::query("INSERT INTO t VALUES (1)")).await;
        first.expect("an insert");
        // The failed transaction is an error itself.
        let _ = run(&mut writer, spoil).await;
        let failed = insert_twice(&mut writer).await.expect_err(spoil);
        assert_eq!(failure(&failed), expected, "{spoil}: {failed}");
        writer.connect().await.expect("the server answers");
        let inserted = insert_twice(&mut writer).await;
        assert_eq!(inserted.expect(spoil), 2);
    }
}

#[tokio::test]
async fn spoiled_session_is_replaced_for_a_question() {
    let database = database().await;
    let mut writer = connected(&database).await;
    assert_eq!(setting(&mut writer, "jit").await, "off");
    run(&mut writer, "DEALLOCATE ALL").await.expect("no error");
    assert_eq!(setting(&mut writer, "jit").await, "off");
}

/// Each change of the catalog makes a session visit what it has compiled, so it does not live for ever.
#[tokio::test]
async fn replaced_session_ends_before_the_next_statement() {
    let database = database().await;
    let mut writer = connected(&database).await;
    let process = || sqlx::query("SELECT pg_backend_pid()");
    let of = |rows: &[PgRow]| -> i32 { rows[0].try_get(0).expect("a process") };
    let first = of(&writer.ask(process()).await.expect("an answer"));
    writer.replace();
    writer.replace();
    writer.connect().await.expect("the server answers");
    let second = of(&writer.ask(process()).await.expect("an answer"));
    assert_ne!(first, second);
    let first = sqlx::query("SELECT FROM pg_stat_activity WHERE pid = $1").bind(first);
    let first = writer.ask(first).await.expect("an answer");
    assert!(first.is_empty(), "the first session still runs");
}

/// SQLSTATE 0A000 stands for an outdated plan and for what the server does not support.
#[tokio::test]
async fn outdated_plan_is_told_from_unsupported_feature() {
    let database = database().await;
    let mut writer = connected(&database).await;
    run(&mut writer, "CREATE TABLE t (n int)")
        .await
        .expect("a table");
    let select = || sqlx::query("SELECT * FROM t");
    writer.ask(select()).await.expect("no rows");
    let mut other = connected(&database).await;
    run(
        &mut other,
        "SET lc_messages = 'C'; ALTER TABLE t ADD COLUMN m int",
    )
    .await
    .expect("a column");
    let outdated = writer.ask(select()).await.expect_err("an outdated plan");
    assert_eq!(failure(&outdated), Failure::Session, "{outdated}");
    let unsupported = other.ask(sqlx::query("SELECT count(*) FROM t FOR UPDATE"));
    let unsupported = unsupported.await.expect_err("an unsupported feature");
    assert_eq!(failure(&unsupported), Failure::Refused, "{unsupported}");
    for failed in [&outdated, &unsupported] {
        let code = failed.as_database_error().and_then(|error| error.code());
        assert_eq!(code.as_deref(), Some("0A000"), "{failed}");
    }
    writer.connect().await.expect("the server answers");
    writer.ask(select()).await.expect("no rows");
}

/// The server ends a session that stays too long in a transaction, or whose database is dropped.
#[tokio::test]
async fn session_ended_by_the_server_is_lost() {
    let database = database().await;
    let mut writer = connected(&database).await;
    run(&mut writer, "SET idle_session_timeout = 1")
        .await
        .expect("no error");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let lost = writer.ask(sqlx::query("SELECT 1")).await;
    assert_eq!(failure(&lost.expect_err("no session")), Failure::Lost);

    let mut writer = connected(&database).await;
    // From version 17 on.
    if run(&mut writer, "SET transaction_timeout = '100ms'")
        .await
        .is_ok()
    {
        let lost = run(&mut writer, "SELECT pg_sleep(5)").await;
        assert_eq!(failure(&lost.expect_err("no session")), Failure::Lost);
    }
}

/// SQLSTATEs of a session that the server ends. `transaction_timeout` (25P04) exists from version 17 on.
#[tokio::test]
async fn errors_that_end_a_session_are_lost() {
    let database = database().await;
    for code in [
        "25P03", "25P04", "57P01", "57P02", "57P03", "57P04", "57P05",
    ] {
        let mut writer = connected(&database).await;
        let raise = format!("DO $$ BEGIN RAISE 'ended' USING ERRCODE = '{code}'; END $$");
        let failed = run(&mut writer, &raise).await.expect_err("an error");
        assert_eq!(failure(&failed), Failure::Lost, "{code}");
    }
}

#[tokio::test]
async fn retired_connections_are_not_lent_again() {
    let database = database().await;
    let pool = pool(&database, 3);
    let (mut first, mut second) = (borrow(&pool).await, borrow(&pool).await);
    let mut lent = borrow(&pool).await;
    let mut retired = Vec::new();
    for connection in [&mut first, &mut second, &mut lent] {
        retired.push(process(connection).await);
    }
    first.give_back();
    second.give_back();
    pool.learn(Failure::Session);
    lent.give_back();
    let mut borrowed = Vec::new();
    for _ in 0..3 {
        borrowed.push(borrow(&pool).await);
    }
    for connection in &mut borrowed {
        let next = process(connection).await;
        assert!(!retired.contains(&next), "{next} of {retired:?}");
    }
    assert_eq!(pool.size(), 3);
}

#[tokio::test]
async fn other_failures_cost_no_connection() {
    let database = database().await;
    let pool = pool(&database, 1);
    let first = next_process(&pool).await;
    for failure in [
        Failure::NotSent,
        Failure::Data,
        Failure::Deadlock,
        Failure::Cancelled,
        Failure::Refused,
        Failure::Lost,
    ] {
        pool.learn(failure);
        assert_eq!(next_process(&pool).await, first, "{failure:?}");
    }
}
