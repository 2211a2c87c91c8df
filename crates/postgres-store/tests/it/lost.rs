//! Servers that end sessions, refuse connections or are unreachable.

use std::time::Duration;

use local_postgres::end_sessions;
use postgres_store::{ConnectErrorKind, Limits, Pool, connect_error};
use sqlx::AssertSqlSafe;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::{borrow, database, next_process, options, pool, process};

#[tokio::test]
async fn suspected_connection_is_pinged_before_it_is_lent() {
    let database = database().await;
    let pool = pool(&database, 4);
    let mut lent = Vec::new();
    for _ in 0..4 {
        lent.push(borrow(&pool).await);
    }
    let mut ended = Vec::new();
    for connection in &mut lent[1..] {
        ended.push(process(connection).await);
    }
    let survivor = process(&mut lent[0]).await;
    let end = end_sessions(&format!("pid = ANY (ARRAY{ended:?})"));
    sqlx::raw_sql(AssertSqlSafe(end))
        .execute(&mut *lent[0])
        .await
        .expect("the sessions end");
    for connection in lent {
        connection.give_back();
    }

    pool.suspect();
    assert_eq!(next_process(&pool).await, survivor);
    assert_eq!(pool.size(), 1);
}

#[tokio::test]
async fn dead_connection_is_not_lent_again() {
    let database = database().await;
    let pool = pool(&database, 1);
    let mut connection = borrow(&pool).await;
    let ended = process(&mut connection).await;
    let end = sqlx::query("SELECT pg_terminate_backend(pg_backend_pid())");
    assert!(end.execute(&mut *connection).await.is_err());
    drop(connection);
    assert_ne!(next_process(&pool).await, ended);
}

#[tokio::test]
async fn refusing_server_is_named_when_the_time_is_over() {
    let unused = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = unused.local_addr().expect("an address").port();
    drop(unused);
    let url = format!("postgres://user@127.0.0.1:{port}/none");
    let pool = Pool::new(options(&url), Limits::new(1, Duration::from_millis(100)));
    let refused = pool.acquire().await.expect_err("no server");
    let cause = connect_error(&refused).expect("a cause");
    assert_eq!(cause.kind(), ConnectErrorKind::Refused);
    assert_eq!(pool.size(), 0);
}

#[tokio::test]
async fn missing_database_fails_at_once() {
    let database = database().await;
    let missing = options(database.url()).database("there_is_none");
    let pool = Pool::new(missing, Limits::new(1, super::TEST_TIMEOUT));
    let refused = pool.acquire().await.expect_err("no database");
    let cause = connect_error(&refused).expect("a cause");
    assert_eq!(cause.kind(), ConnectErrorKind::NoDatabase);
    assert_eq!(cause.code().as_deref(), Some("3D000"));
}

/// The server allows fewer connections than the pool.
#[tokio::test]
async fn full_server_lends_returned_connection_instead_of_new_one() {
    let database = database().await;
    let observer = pool(&database, 1);
    let mut connection = borrow(&observer).await;
    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(&mut *connection)
        .await
        .expect("a name");
    let role = format!("{name}_guest");
    for statement in [
        format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'guest' CONNECTION LIMIT 1"),
        format!("GRANT CONNECT ON DATABASE \"{name}\" TO \"{role}\""),
    ] {
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut *connection)
            .await
            .expect("a role");
    }
    let guest = options(database.url()).username(&role).password("guest");
    let pool = Pool::new(guest, Limits::new(4, Duration::from_secs(20)));
    let mut only = borrow(&pool).await;
    let process_of_only = process(&mut only).await;
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { next_process(&pool).await }
    });
    // Long enough for the task to find the server full.
    sleep(Duration::from_millis(300)).await;
    only.give_back();
    assert_eq!(
        waiting.await.expect("the task does not panic"),
        process_of_only
    );
    assert_eq!(pool.size(), 1);
    pool.close().await;
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    sqlx::raw_sql(AssertSqlSafe(drop))
        .execute(&mut *connection)
        .await
        .expect("the role is dropped");
}
